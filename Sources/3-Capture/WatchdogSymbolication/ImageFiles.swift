// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture

/// Finds the file of each image: by an inherited descriptor, or else by path.
struct ImageFiles {
    private static let noteLimit = 32

    private let contents: SnapshotContents
    private let byStart: [UInt64: Int32]
    private let byPath: [String: Int32]
    /// Notes about missing files.
    private(set) var notes: [String] = []

    init(_ contents: SnapshotContents, modules descriptors: [Int32]) {
        self.contents = contents
        let modules = contents.modules.compactMap { module -> (module: SnapshotModule, descriptor: Int32)? in
            guard let index = module.descriptor, descriptors.indices.contains(index) else { return nil }
            return (module, descriptors[index])
        }
        byStart = Dictionary(modules.map { ($0.module.start, $0.descriptor) }) { first, _ in first }
        byPath = Dictionary(modules.map { ($0.module.path, $0.descriptor) }) { first, _ in first }
    }

    /// The file of an image; nil, with a note, if there is none.
    mutating func open(_ image: Image) -> ImageFile? {
        if image.isVDSO { return (contents.vdso?.bytes).map(ImageFile.init(bytes:)) }
        if let descriptor = byStart[image.range.lowerBound] ?? byPath[image.path] {
            if let file = ImageFile(descriptor: descriptor) { return file }
            note("\(image.path): what was handed over is not a regular file")
            return nil
        }
        guard let file = ImageFile(pathOf: image) else {
            note("\(image.path): the file was not passed and cannot be opened by its path")
            return nil
        }
        note("\(image.path): opened by its path; it may have changed in place, compare the build-id")
        return file
    }

    private mutating func note(_ text: String) {
        if notes.count < ImageFiles.noteLimit { notes.append(text) }
    }
}
