// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc

/// The images of the process, each also as a module of libdwfl, which opens the file on first use.
///
/// libdwfl and libdw are accessed only through ``module(_:)``, which records the image whose bytes are parsed next, in
/// case that crashes.
final class ImageTable {
    let images: [Image]

    private let files: [ImageFile?]
    private var parsed: [Int: ElfFile?] = [:]
    private let session: OpaquePointer
    private let callbacks: UnsafeMutablePointer<Dwfl_Callbacks>
    private let modules: [OpaquePointer?]
    private let willParse: (Int) -> Void

    /// Creates the table.
    ///
    /// - Parameters:
    ///   - images: In ascending order and without overlap.
    ///   - files: The file of each image, or nil if there is none.
    ///   - excluded: Images that libdw must not parse.
    ///   - willParse: Called with the index of an image before libdw parses its bytes.
    init?(images: [Image], files: [ImageFile?], excluded: Set<Int>, willParse: @escaping (Int) -> Void) {
        precondition(images.count == files.count, "each image has its file or nil")
        guard Elfutils.problem == nil else { return nil }
        elf_version(UInt32(EV_CURRENT))
        callbacks = .allocate(capacity: 1)
        callbacks.initialize(
            to: Dwfl_Callbacks(
                find_elf: { module, userdata, _, _, name, elf in
                    ImageTable.from(userdata)?.open(module, name: name, elf: elf) ?? -1
                },
                find_debuginfo: dwfl_standard_find_debuginfo,
                section_address: nil,
                debuginfo_path: nil
            )
        )
        guard let session = dwfl_begin(callbacks) else {
            callbacks.deallocate()
            return nil
        }
        self.session = session
        self.images = images
        self.files = files
        self.willParse = willParse
        dwfl_report_begin(session)
        modules = images.indices.map { index in
            guard files[index] != nil, !excluded.contains(index) else { return nil }
            let range = images[index].range
            return dwfl_report_module(session, images[index].path, range.lowerBound, range.upperBound)
        }
        dwfl_report_end(session, nil, nil)
        for case let module? in modules {
            var userdata: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
            dwfl_module_info(module, &userdata, nil, nil, nil, nil, nil, nil)
            userdata?.pointee = Unmanaged.passUnretained(self).toOpaque()
        }
    }

    deinit {
        dwfl_end(session)
        callbacks.deallocate()
    }

    func index(containing address: UInt64) -> Int? {
        let next = images.partitionPoint { $0.range.lowerBound > address }
        guard next > 0, images[next - 1].range.contains(address) else { return nil }
        return next - 1
    }

    /// libdwfl's handle for an image, for immediate use; nil if libdw must not parse it.
    func module(_ index: Int) -> OpaquePointer? {
        guard let module = modules[index] else { return nil }
        willParse(index)
        var bias: GElf_Addr = 0
        return dwfl_module_getelf(module, &bias) == nil ? nil : module
    }

    /// The headers of an image's file; nil if it could not be opened or is not an ELF file.
    func file(of index: Int) -> ElfFile? {
        if let known = parsed[index] { return known }
        let file = files[index].flatMap { ElfFile($0, mappedAs: images[index]) }
        parsed[index] = .some(file)
        return file
    }

    /// `count` bytes of code at `address`, from the file.
    func code(at address: UInt64, count: Int) -> [UInt8]? {
        index(containing: address).flatMap(file(of:))?.bytes(at: address, count: count, executable: true)
    }

    /// Up to `limit` bytes of code, starting at `address`.
    func code(at address: UInt64, upTo limit: Int) -> [UInt8] {
        index(containing: address).flatMap(file(of:))?.code(at: address, upTo: limit) ?? []
    }

    /// A word of read-only memory from the image's file, where the snapshot has none.
    func constantWord(at address: UInt64) -> UInt64? {
        index(containing: address).flatMap(file(of:))?.bytes(at: address, count: 8)?
            .withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}

// MARK: - libdwfl's callback

extension ImageTable {
    private static func from(_ userdata: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> ImageTable? {
        (userdata?.pointee).map { Unmanaged<ImageTable>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Returns: a descriptor that libdwfl will close, or -1, in which case `elf` may be filled in.
    private func open(
        _ module: OpaquePointer?,
        name: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        elf: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        guard let index = modules.firstIndex(of: module), let file = files[index] else { return -1 }
        switch file.source {
        case .bytes(let bytes):
            elf?.pointee = ImageTable.elf(copying: bytes)
            return -1
        case .descriptor(let descriptor):
            // libdwfl searches for separate debug information in the directory of this path first.
            name?.pointee = strdup(images[index].path)
            return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        }
    }

    /// libelf keeps a pointer to the bytes, so this copy is never freed; it happens once per process.
    private static func elf(copying bytes: ArraySlice<UInt8>) -> OpaquePointer? {
        guard !bytes.isEmpty, let copy = malloc(bytes.count) else { return nil }
        bytes.withUnsafeBytes { source in
            if let base = source.baseAddress { memcpy(copy, base, source.count) }
        }
        return elf_memory(copy.assumingMemoryBound(to: CChar.self), bytes.count)
    }
}
