// SPDX-License-Identifier: Apache-2.0

/// One call on a stack with everything a reader wants to know of it.
public struct CallSite: Equatable, Sendable {
    /// Its place on the stack, from 0, innermost first.
    public let number: Int
    /// The function, or nil when it has no name.
    public let function: String?
    /// Bytes from the function's beginning.
    public let functionOffset: UInt64?
    /// The image's name, `???` when there is none.
    public let image: String
    /// Bytes from the image's base.
    public let imageOffset: UInt64
    /// The return address, or the program counter of the innermost call.
    public let address: UInt64
    /// File and line, `Semaphore.swift:25`.
    public let source: String?
    /// Whether the compiler inlined it into the next one.
    public let isInlined: Bool
    /// How it was found; nil in foreign reports.
    public let trust: Frame.Trust?
    /// Whose code it is.
    public let origin: CodeOrigin

    /// The function, or image and offset where it has no name: the same in every process that runs the same file.
    public var name: String { function ?? "\(image) + \(imageOffset.hexadecimal())" }
    /// ``name``, and file and line where they are known.
    public var place: String { source.map { "\(name) (\($0))" } ?? name }

    /// - Parameters:
    ///   - number: its place on the stack.
    ///   - images: those of the report.
    ///   - executable: the path of the process's executable.
    init(_ number: Int, _ frame: FrameInfo, in images: [ImageInfo], executable: String?, trust: Frame.Trust?) {
        let image = images.indices.contains(frame.imageIndex) ? images[frame.imageIndex] : .absent
        self.number = number
        // Some demanglers leave a blank where they know no outer function.
        function = frame.symbol.map { symbol in
            String(symbol.reversed().drop { $0 == " " }.reversed())
        }
        functionOffset = frame.symbolLocation
        self.image = image.name ?? image.path?.split(separator: "/").last.map(String.init) ?? "???"
        imageOffset = frame.imageOffset
        address = image.base &+ frame.imageOffset
        source = frame.sourceFile?.split(separator: "/").last.map { file in
            frame.sourceLine.map { "\(file):\($0)" } ?? String(file)
        }
        isInlined = frame.inline ?? false
        self.trust = trust
        origin = CodeOrigin(of: frame, in: image, executable: executable)
    }
}
