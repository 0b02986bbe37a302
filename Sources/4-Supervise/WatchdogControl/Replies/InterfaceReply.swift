// SPDX-License-Identifier: Apache-2.0

/// The reply to `org.varlink.service.GetInterfaceDescription`.
struct InterfaceReply: ControlReply {
    var description: String
}
