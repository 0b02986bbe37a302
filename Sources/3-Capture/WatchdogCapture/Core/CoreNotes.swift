// SPDX-License-Identifier: Apache-2.0

import Glibc

extension SnapshotRegister {
    /// The index of each register, in snapshot order, in the `user_regs_struct` of `sys/user.h`: r15 r14 r13 r12 rbp rbx r11
    /// r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs.
    static let userOrder = [
        10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16, 18, 15, 17, 20, 21, 22,
    ]
    /// The number of registers in that structure.
    static let userCount = 27
}

/// The notes of a core file about the process: elf(5).
struct CoreNotes {
    private static let name = Array("CORE\0\0\0\0".utf8)
    private static let nameLength: UInt32 = 5

    private var content = CoreBytes()

    /// - Parameters:
    ///   - mappings: the mappings of files to name.
    ///   - program: the program's index among the modules.
    init(
        _ contents: SnapshotContents, mappings: [SnapshotMapping], _ threads: [SnapshotThread],
        _ modules: [CoreModule], program: Int?
    ) {
        let process = contents.process
        // In the kernel's order: debuggers show the first thread.
        for thread in threads.prefix(1) { put(1, Self.status(of: thread, in: process)) }
        put(3, Self.information(on: process, state: threads.first?.state))
        put(6, Self.vector(contents, modules, program: program))
        put(0x4649_4C45, Self.files(mappings))
        for thread in threads.dropFirst() { put(1, Self.status(of: thread, in: process)) }
    }

    /// All notes.
    var bytes: [UInt8] { content.bytes }

    private mutating func put(_ type: UInt32, _ note: [UInt8]) {
        content.append(Self.nameLength)
        content.append(UInt32(note.count))
        content.append(type)
        content.append(bytes: Self.name)
        content.append(bytes: note)
        content.append(bytes: [UInt8](repeating: 0, count: -note.count & 3))
    }

    /// NT_PRSTATUS: struct elf_prstatus.
    private static func status(of thread: SnapshotThread, in process: SnapshotProcess) -> [UInt8] {
        var registers = [UInt64](repeating: 0, count: SnapshotRegister.userCount)
        for register in SnapshotRegister.allCases {
            registers[SnapshotRegister.userOrder[register.rawValue]] = thread.registers[register.rawValue]
        }
        if thread.registerSource == .syscallFile {
            // The segments of every 64-bit program: __USER_CS, __USER_DS of arch/x86/include/asm/segment.h.
            registers[SnapshotRegister.userOrder[SnapshotRegister.cs.rawValue]] = 0x33
            registers[SnapshotRegister.userOrder[SnapshotRegister.ss.rawValue]] = 0x2b
        }
        var note = CoreBytes()
        // pr_info, pr_cursig, pr_sigpend, pr_sighold: no signal ended it.
        note.append(bytes: [UInt8](repeating: 0, count: 32))
        // pr_pid, pr_ppid, pr_pgrp, pr_sid.
        for number in [thread.id, process.parent, process.id, 0] { note.append(number) }
        // pr_utime to pr_cstime.
        note.append(bytes: [UInt8](repeating: 0, count: 64))
        for register in registers { note.append(register) }
        // pr_fpvalid.
        note.append(UInt64(0))
        return note.bytes
    }

    /// NT_PRPSINFO: struct elf_prpsinfo.
    ///
    /// The arguments may contain secrets, so the program's path replaces them.
    private static func information(on process: SnapshotProcess, state: String?) -> [UInt8] {
        var note = CoreBytes()
        note.append(bytes: [0, state?.utf8.first ?? UInt8(ascii: "?"), 0, 0, 0, 0, 0, 0])
        note.append(UInt64(0))
        // pr_uid, pr_gid; pr_pid, pr_ppid, pr_pgrp, pr_sid.
        for number in [process.user, 0] { note.append(number) }
        for number in [process.id, process.parent, process.id, 0] { note.append(number) }
        for (text, size) in [(process.name, 16), (process.executable, 80)] {
            let bytes = Array(text.utf8.prefix(size - 1))
            note.append(bytes: bytes + [UInt8](repeating: 0, count: size - bytes.count))
        }
        return note.bytes
    }

    /// NT_AUXV: getauxval(3).
    private static func vector(_ contents: SnapshotContents, _ modules: [CoreModule], program: Int?) -> [UInt8] {
        var values: [(type: UInt64, value: UInt64)] = []
        // AT_SYSINFO_EHDR, AT_PAGESZ.
        if let vdso = contents.vdso { values.append((33, vdso.address)) }
        values.append((6, UInt64(CoreMemory.pageSize)))
        if let program {
            let module = modules[program]
            // AT_PHDR, AT_PHENT, AT_PHNUM, AT_BASE, AT_ENTRY.
            values += [
                (3, module.program.headers.address), (4, UInt64(MemoryLayout<Elf64_Phdr>.size)),
                (5, UInt64(module.program.headers.count)),
                (7, interpreter(of: module, among: modules)?.start ?? 0), (9, module.program.entry),
            ]
        }
        // AT_UID, AT_NULL.
        values += [(11, UInt64(contents.process.user)), (0, 0)]
        var note = CoreBytes()
        for (type, value) in values {
            note.append(type)
            note.append(value)
        }
        return note.bytes
    }

    /// The loader of a program; nil for a static one.
    static func interpreter(of program: CoreModule, among modules: [CoreModule]) -> CoreModule? {
        // Compare the last component only: the path may be a link, and maps shows the target.
        guard let path = program.program.interpreter else { return nil }
        return modules.first { CoreModule.name($0.path) == CoreModule.name(path) }
    }

    /// NT_FILE: the count, the page size, then start, end and page offset of each mapping, then the paths.
    private static func files(_ mappings: [SnapshotMapping]) -> [UInt8] {
        var note = CoreBytes()
        let page = UInt64(CoreMemory.pageSize)
        note.append(UInt64(mappings.count))
        note.append(page)
        for mapping in mappings {
            for word in [mapping.start, mapping.end, mapping.offset / page] { note.append(word) }
        }
        for mapping in mappings { note.append(bytes: mapping.filePath + [0]) }
        return note.bytes
    }
}

/// A buffer to which values are appended in the host's byte order, as in its core files.
struct CoreBytes {
    private(set) var bytes: [UInt8] = []

    init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    mutating func append(_ value: some BitwiseCopyable) { withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) } }

    mutating func append(bytes more: [UInt8]) { bytes += more }
}
