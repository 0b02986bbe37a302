// SPDX-License-Identifier: Apache-2.0

/// The exception of a report, in Apple's terms.
public struct ExceptionInfo: Codable, Equatable, Sendable {
    /// `EXC_CRASH` for every signal that no instruction caused.
    public var type: String
    /// The signal's name.
    public var signal: String?
    /// The codes as text.
    public var codes: String?
    /// The codes as numbers.
    public var rawCodes: [UInt64]?
    /// The details of the exception.
    public var subtype: String?
    /// An additional message.
    public var message: String?

    /// Creates the values.
    public init(
        type: String, signal: String?, codes: String?, rawCodes: [UInt64]?, subtype: String? = nil,
        message: String? = nil
    ) {
        self.type = type
        self.signal = signal
        self.codes = codes
        self.rawCodes = rawCodes
        self.subtype = subtype
        self.message = message
    }

    /// The exception of a watchdog kill.
    public static let watchdogKill = ExceptionInfo(
        type: "EXC_CRASH", signal: "SIGKILL", codes: "0x0000000000000000, 0x0000000000000000", rawCodes: [0, 0])
}
