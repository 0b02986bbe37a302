// SPDX-License-Identifier: Apache-2.0

/// One call on a stack of a report.
public struct FrameInfo: Codable, Equatable, Sendable {
    /// The address minus the image's base.
    public var imageOffset: UInt64
    /// Index into ``ReportBody/usedImages``.
    public var imageIndex: Int
    /// The function's name; never without ``symbolLocation``, which readers demand then.
    public var symbol: String?
    /// The address minus the function's start.
    public var symbolLocation: UInt64?
    /// The source file; in our reports its path.
    public var sourceFile: String?
    /// The line in it.
    public var sourceLine: Int?
    /// True for a call that the compiler inlined into the next frame.
    public var inline: Bool?

    /// Creates the values.
    public init(
        imageOffset: UInt64, imageIndex: Int, symbol: String? = nil, symbolLocation: UInt64? = nil,
        sourceFile: String? = nil, sourceLine: Int? = nil, inline: Bool? = nil
    ) {
        self.imageOffset = imageOffset
        self.imageIndex = imageIndex
        self.symbol = symbol
        self.symbolLocation = symbolLocation
        self.sourceFile = sourceFile
        self.sourceLine = sourceLine
        self.inline = inline
    }
}
