// SPDX-License-Identifier: Apache-2.0

/// The parameters of a method.
public protocol ControlRequest: Codable, Hashable, Sendable {
    /// The names of all parameters; a call with any other parameter is rejected.
    static var parameterNames: Set<String> { get }
}

/// The parameters of a method's reply.
public protocol ControlReply: Codable, Hashable, Sendable {}

extension CaseIterable where Self: CodingKey {
    static var names: Set<String> { Set(allCases.map(\.stringValue)) }
}
