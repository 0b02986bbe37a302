// SPDX-License-Identifier: Apache-2.0

/// The parameters of `org.varlink.service.GetInterfaceDescription`.
struct InterfaceRequest: ControlRequest {
    var interface: String

    static let parameterNames = CodingKeys.names

    private enum CodingKeys: CodingKey, CaseIterable {
        case interface
    }
}

/// The reply to `org.varlink.service.GetInterfaceDescription`.
struct InterfaceReply: ControlReply {
    var description: String
}
