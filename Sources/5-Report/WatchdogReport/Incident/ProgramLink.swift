// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// A program that was executed by a symbolic link of another name, as Debian's `redis-server` is a link to
/// `redis-check-rdb`.
///
/// Reports show the link's name, which is the one that people know, and the path of the file.
public struct ProgramLink: Hashable, Sendable {
    /// The name of the link.
    public let name: String
    /// The path of the file.
    public let file: String

    /// A link; nil if the file has the same name.
    public init?(_ name: String, to file: String) {
        guard !name.isEmpty, file.split(separator: "/").last.map(String.init) != name else { return nil }
        self.name = name
        self.file = file
    }

    /// The link by which a foreign process was executed; nil for a file of the same name, or if it is not certain.
    ///
    /// A program can change its arguments and its own name, but seldom to the same. In place of a script's first argument
    /// is its interpreter, while the process has the script's name.
    ///
    /// - Parameters:
    ///   - process: the kernel's name for the process, at most 15 bytes.
    ///   - arguments: the arguments as the process shows them.
    ///   - file: the path of its executable.
    public init?(of process: String, _ arguments: [String], file: String) {
        let command = arguments.first?.split(separator: " ").first?.split(separator: "/").last ?? ""
        guard !process.isEmpty, String(decoding: command.utf8.prefix(15), as: UTF8.self) == process else { return nil }
        self.init(String(command), to: file)
    }

    /// The images, of which the program's has the name of the link.
    func renaming(_ images: [BinaryImage]) -> [BinaryImage] {
        images.map { image in
            var image = image
            if image.path == file { image.name = name }
            return image
        }
    }

    /// A finding in whose source the program has the name of the link.
    func renaming(_ finding: Finding) -> Finding {
        var finding = finding
        let end = " in " + (file.split(separator: "/").last ?? "")
        if finding.source.hasSuffix(end) { finding.source = finding.source.dropLast(end.count) + " in \(name)" }
        return finding
    }
}

extension IncidentFacts {
    /// The stacks with the name of ``link``.
    func renaming(_ capture: CapturedProcess?) -> CapturedProcess? {
        guard let link, var capture else { return capture }
        capture.images = link.renaming(capture.images)
        return capture
    }

    /// The samples with the name of ``link``.
    var renamedSamples: ProcessSamples? {
        guard let link, var samples else { return samples }
        samples.images = link.renaming(samples.images)
        return samples
    }
}
