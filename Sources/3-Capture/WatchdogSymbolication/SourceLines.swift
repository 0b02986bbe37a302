// SPDX-License-Identifier: Apache-2.0

/// The lines and inlined calls of all images; each image's debug information is opened on first use.
final class SourceLines {
    /// The debug information about one address.
    struct Result {
        /// The location of the instruction there, in the innermost call.
        var location: SourceLocation?
        /// The inlined calls, innermost first.
        var inlined: [CompilationUnit.InlinedCall]
        /// The function's name, mangled if the language mangles names, and its run-time address.
        var function: (name: String?, start: UInt64)?
    }

    private let images: ImageTable
    private let excluded: Set<Int>
    private var units: [Int: CompilationUnits?] = [:]

    /// Creates the table.
    ///
    /// - Parameter excluded: Images, by index, whose debug information is not read.
    init(_ images: ImageTable, excluding excluded: Set<Int> = []) {
        self.images = images
        self.excluded = excluded
    }

    /// Looks up a run-time address; nil without debug information.
    func lookUp(_ address: UInt64) -> Result? {
        guard let index = images.index(containing: address), !excluded.contains(index), let units = units(of: index),
            let unit = units.unit(containing: address &- units.bias)
        else { return nil }
        let (inlined, function) = unit.calls(at: address &- units.bias)
        return Result(
            location: unit.location(of: address &- units.bias),
            inlined: inlined,
            function: function.map { ($0.name, $0.start &+ units.bias) }
        )
    }

    private func units(of image: Int) -> CompilationUnits? {
        // Call this even if the units are known: it records that the image is about to be parsed further.
        let module = images.module(image)
        if let known = units[image] { return known }
        let opened = module.flatMap { CompilationUnits(of: $0) }
        units[image] = .some(opened)
        return opened
    }
}

/// A file and a line.
struct SourceLocation: Equatable {
    var path: String
    var line: Int

    init(path: String, line: Int) {
        self.path = path
        self.line = line
    }

    /// Nil for code without a source line: compilers mark it with line 0, swiftc also with a file of this name.
    init?(path: UnsafePointer<CChar>, line: UInt64) {
        let path = String(cString: path)
        guard line > 0, line <= UInt64(Int32.max), !path.hasSuffix("<compiler-generated>") else { return nil }
        self.path = path
        self.line = Int(line)
    }
}
