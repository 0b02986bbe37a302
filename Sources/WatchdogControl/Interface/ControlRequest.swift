// SPDX-License-Identifier: Apache-2.0

/// The parameters of a method.
public protocol ControlRequest: Codable, Hashable, Sendable {
    /// The names of all parameters; a call with another one is refused.
    static var parameterNames: Set<String> { get }
}

/// What a method answers with.
public protocol ControlReply: Codable, Hashable, Sendable {}

extension CaseIterable where Self: CodingKey {
    static var names: Set<String> { Set(allCases.map(\.stringValue)) }
}
