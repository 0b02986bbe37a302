// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

/// One call on a stack, with all details for a reader.
public struct CallSite: Equatable, Sendable {
    /// The position on the stack, from 0, innermost call first.
    public let number: Int
    /// The function; nil without a name.
    public let function: String?
    /// The offset from the function's start, in bytes.
    public let functionOffset: UInt64?
    /// The name of the image; `???` without one.
    public let image: String
    /// The offset from the image's base, in bytes.
    public let imageOffset: UInt64
    /// The return address, or the program counter of the innermost call.
    public let address: UInt64
    /// The file and line: `Semaphore.swift:25`.
    public let source: String?
    /// Whether the compiler inlined the call into the next one.
    public let isInlined: Bool
    /// The language of an interpreted function, or of one compiled at run time, such as `python`; nil for other machine
    /// code.
    public let language: String?
    /// The method that found the frame; nil in foreign reports.
    public let trust: Frame.Trust?
    /// The owner of the code.
    public let origin: CodeOrigin

    /// The function, or else the image and offset: identical in all processes that run the same file.
    public var name: String { function ?? "\(image) + \(imageOffset.hexadecimal())" }
    /// ``name``, plus the file and line if known.
    public var place: String { source.map { "\(name) (\($0))" } ?? name }

    /// - Parameters:
    ///   - number: the position on the stack.
    ///   - images: the images of the report.
    init(_ number: Int, _ frame: FrameInfo, in images: ImageOrigins, trust: Frame.Trust?) {
        let (image, origin) = images[frame.imageIndex]
        self.number = number
        // Some demanglers leave a trailing space if the enclosing function is unknown.
        function = frame.symbol.map { symbol in
            String(symbol.reversed().drop { $0 == " " }.reversed())
        }
        functionOffset = frame.symbolLocation
        self.image = image.name ?? image.path?.split(separator: "/").last.map(String.init) ?? "???"
        imageOffset = frame.imageOffset
        address = image.base &+ frame.imageOffset
        source = frame.sourceFile?.split(separator: "/").last.map { file in
            // A report has 0 where the line is unknown.
            frame.sourceLine.flatMap { $0 > 0 ? "\(file):\($0)" : nil } ?? String(file)
        }
        isInlined = frame.inline ?? false
        language = frame.language
        self.trust = trust
        self.origin = CodeOrigin(of: frame, in: origin)
    }
}
