// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// A text under construction; every line is safe for a terminal and bounded in length.
struct CrashText {
    private(set) var string = ""
    private let style: TextStyle
    /// The path of the program, whose frames are emphasized.
    private let executable: String?

    private static let lineLimit = 4_096

    init(_ style: TextStyle = TextStyle(), executable: String? = nil) {
        self.style = style
        self.executable = executable
    }

    mutating func blank() {
        string += "\n"
    }

    mutating func line(_ text: String, _ meaning: TextStyle.Meaning? = nil) {
        string += style(text.singleLine(limit: Self.lineLimit), meaning) + "\n"
    }

    /// Appends a text of several lines, with or without a trailing newline.
    mutating func lines(_ text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        for line in lines { self.line(String(line)) }
    }

    /// Appends a header line; nothing if there is no value.
    mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        line("\(name):".alignedLeft(21) + value)
    }

    /// Appends a line of a stack: `%-4d%-30s\t%18s %s`.
    mutating func frame(
        _ number: Int, _ frame: FrameInfo, _ images: [ImageInfo], mark: String = "", indentation: String = ""
    ) {
        let image = images.indices.contains(frame.imageIndex) ? images[frame.imageIndex] : .absent
        let name = (image.name ?? "???").singleLine(limit: 255).alignedLeft(30)
        let address = (image.base &+ frame.imageOffset).hexadecimal().alignedRight(18)
        var call: String
        if let symbol = frame.symbol {
            call = "\(symbol.singleLine(limit: 1_024)) + \(frame.symbolLocation ?? 0)"
            if let file = frame.sourceFile?.split(separator: "/").last {
                let line = frame.sourceLine ?? 0
                call += " (\(String(file).singleLine(limit: 255))\(line > 0 ? ":\(line)" : ""))"
            }
        } else {
            call = "\(image.base.hexadecimal()) + \(frame.imageOffset)"
        }
        if frame.inline == true { call += " [inlined]" }
        if let language = frame.language { call += " [\(language.singleLine(limit: 32))]" }
        let row = "\(String(number).alignedLeft(4))\(name)\t\(address) \(call)\(mark)"
        let isOwn =
            style.isColored
            && CodeOrigin(of: frame, in: CodeOrigin(of: image, executable: executable)) == .application
        string += indentation + style(row, isOwn ? .emphasis : nil) + "\n"
    }
}
