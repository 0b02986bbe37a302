// SPDX-License-Identifier: Apache-2.0

/// What `org.varlink.service.GetInterfaceDescription` answers with.
struct InterfaceReply: ControlReply {
    var description: String
}
