// SPDX-License-Identifier: Apache-2.0

/// One call on a stack of a report.
public struct FrameInfo: Codable, Equatable, Sendable {
    /// The address minus the image's base.
    public var imageOffset: UInt64
    /// Index into ``ReportBody/usedImages``.
    public var imageIndex: Int
    /// The name of the function; readers require ``symbolLocation`` with it.
    public var symbol: String?
    /// The address minus the function's start.
    public var symbolLocation: UInt64?
    /// The source file; a full path in our reports.
    public var sourceFile: String?
    /// The line in the source file.
    public var sourceLine: Int?
    /// True for a call that the compiler inlined into the next frame.
    public var inline: Bool?
    /// The language of an interpreted function, or of one compiled at run time, such as `python` or `javascript`;
    /// absent for other machine code.
    ///
    /// An interpreted frame has the offset of the interpreter's function that evaluates it, and replaces that
    /// function's frame.
    public var language: String?

    /// Creates the values.
    public init(
        imageOffset: UInt64, imageIndex: Int, symbol: String? = nil, symbolLocation: UInt64? = nil,
        sourceFile: String? = nil, sourceLine: Int? = nil, inline: Bool? = nil, language: String? = nil
    ) {
        self.imageOffset = imageOffset
        self.imageIndex = imageIndex
        self.symbol = symbol
        self.symbolLocation = symbolLocation
        self.sourceFile = sourceFile
        self.sourceLine = sourceLine
        self.inline = inline
        self.language = language
    }
}
