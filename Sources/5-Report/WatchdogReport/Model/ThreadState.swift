// SPDX-License-Identifier: Apache-2.0

/// The registers of a thread.
public struct ThreadState: Codable, Equatable, Sendable {
    /// One register.
    public struct Register: Codable, Equatable, Sendable {
        /// The contents.
        public var value: UInt64
        /// The contents in words.
        public var description: String?

        /// Creates the values.
        public init(value: UInt64, description: String? = nil) {
            self.value = value
            self.description = description
        }
    }

    /// `x86_THREAD_STATE` or `ARM_THREAD_STATE64`.
    public var flavor: String
    /// The registers by name, except the numbered ARM ones, which are in `x`.
    public var registers: [String: Register]
    /// `x0` to `x28` on ARM, otherwise empty.
    public var x: [Register]

    /// The flavor of 64-bit Intel registers.
    public static let x86 = "x86_THREAD_STATE"
    /// The flavor of 64-bit ARM registers.
    public static let arm64 = "ARM_THREAD_STATE64"

    /// Creates the values.
    public init(flavor: String, registers: [String: Register] = [:], x: [Register] = []) {
        self.flavor = flavor
        self.registers = registers
        self.x = x
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ name: String) { stringValue = name }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
        static let flavor = Key("flavor")
        static let x = Key("x")
    }

    /// Decodes Apple's object: one key per register beside `flavor` and `x`; other keys are ignored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        flavor = try container.decodeIfPresent(String.self, forKey: .flavor) ?? ""
        x = try container.decodeIfPresent([Register].self, forKey: .x) ?? []
        registers = [:]
        for key in container.allKeys where key.stringValue != "flavor" && key.stringValue != "x" {
            guard let register = try? container.decode(Register.self, forKey: key) else { continue }
            registers[key.stringValue] = register
        }
    }

    /// Encodes Apple's object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(flavor, forKey: .flavor)
        if !x.isEmpty { try container.encode(x, forKey: .x) }
        for (name, register) in registers { try container.encode(register, forKey: Key(name)) }
    }
}
