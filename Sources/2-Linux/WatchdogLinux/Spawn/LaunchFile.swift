// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The bytes of a launch's file: a `wd_launch`, followed by everything it points to.
///
/// Pointers are offsets from the start of the file until the child maps the file and adds its address.
struct LaunchFile {
    private(set) var bytes: [UInt8]
    private var header = wd_launch()
    private var relocations: [UInt64] = []

    /// Describes a request to the child.
    init(_ request: SpawnRequest) {
        bytes = [UInt8](repeating: 0, count: MemoryLayout<wd_launch>.size)
        bytes.reserveCapacity(16 << 10)
        point(\.path, to: add(request.executable))
        // The child uses the entry in front for a shell that runs a script.
        point(\.arguments, to: add([nil] + request.arguments, endsWithNull: true) + 8)
        addEnvironment(of: request)
        if let directory = request.workingDirectory { point(\.directory, to: add(directory)) }
        addDescriptors(of: request)
        addLimits(of: request)
        addRights(of: request)
        finish()
    }

    /// The outcome before the child's first step.
    static var initialOutcome: wd_spawn_outcome {
        var outcome = wd_spawn_outcome()
        outcome.stage = WD_SPAWN_STAGE_CLONE
        outcome.head_length = -1
        return outcome
    }

    /// The outcome that the child has written into the file.
    static func outcome(in file: OwnedDescriptor) -> wd_spawn_outcome? {
        var outcome = wd_spawn_outcome()
        let size = MemoryLayout<wd_spawn_outcome>.size
        return pread(file.number, &outcome, size, 0) == size ? outcome : nil
    }

    // MARK: Memory

    private mutating func add<Element: BitwiseCopyable>(_ elements: [Element]) -> Int {
        // No type in the request needs more than eight-byte alignment.
        bytes.append(contentsOf: repeatElement(0, count: (8 - bytes.count % 8) % 8))
        let offset = bytes.count
        elements.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return offset
    }

    private mutating func add(_ string: ByteString) -> Int {
        let offset = bytes.count
        bytes += string.bytes
        bytes.append(0)
        return offset
    }

    /// Adds strings and an array of pointers to them; nil becomes a null pointer.
    private mutating func add(_ strings: [ByteString?], endsWithNull: Bool) -> Int {
        var pointers = strings.map { $0.map { UInt64(add($0)) } ?? 0 }
        if endsWithNull { pointers.append(0) }
        return add(pointersTo: pointers)
    }

    private mutating func add(pointersTo offsets: [UInt64]) -> Int {
        let array = add(offsets)
        for (index, offset) in offsets.enumerated() where offset != 0 { relocations.append(UInt64(array + 8 * index)) }
        return array
    }

    private mutating func point(_ field: PartialKeyPath<wd_launch>, to offset: Int) {
        guard let place = MemoryLayout<wd_launch>.offset(of: field) else { preconditionFailure("not a stored field") }
        withUnsafeMutableBytes(of: &header) { $0.storeBytes(of: UInt64(offset), toByteOffset: place, as: UInt64.self) }
        relocations.append(UInt64(place))
    }

    private mutating func finish() {
        header.outcome = Self.initialOutcome
        header.relocation_count = UInt64(relocations.count)
        header.relocations = UnsafePointer(bitPattern: add(relocations))
        withUnsafeBytes(of: header) { header in
            bytes.replaceSubrange(..<header.count, with: header)
        }
    }

    // MARK: The request

    private mutating func addEnvironment(of request: SpawnRequest) {
        var environment = request.environment
        // Ten digits, which the child overwrites with its process ID and a NUL.
        for name in request.processIdVariables { environment[name] = "0000000000" }
        let entries = environment.entries
        let offsets = entries.map { UInt64(add($0)) }
        point(\.environment, to: add(pointersTo: offsets + [0]))

        var texts: [UInt64] = []
        for name in request.processIdVariables {
            let prefix = Array(name.utf8) + [UInt8(ascii: "=")]
            guard let index = entries.firstIndex(where: { $0.bytes.starts(with: prefix) }) else { continue }
            texts.append(offsets[index] + UInt64(prefix.count))
        }
        point(\.pid_texts, to: add(pointersTo: texts))
        header.pid_text_count = UInt64(texts.count)
    }

    private mutating func addDescriptors(of request: SpawnRequest) {
        let targets = Set(request.descriptors.map(\.target))
        // The status socket stays open until the program is executed, at a number that the program does not use.
        let spare = (0...Int32(targets.count)).first { !targets.contains($0) } ?? Int32(targets.count)
        let first = request.firstDescriptor
        var descriptors = request.descriptors.enumerated().map { index, passed in
            wd_spawn_descriptor(
                source: Int32(first + index), target: passed.target, closes_on_exec: false, done: false)
        }
        descriptors.append(wd_spawn_descriptor(source: 0, target: spare, closes_on_exec: true, done: false))
        point(\.descriptors, to: add(descriptors))
        header.descriptor_count = UInt64(descriptors.count)
        point(\.sorted_targets, to: add(descriptors.map(\.target).sorted()))

        header.terminal = -1
        header.cgroup = -1
        var next: Int32 = 0
        if request.cgroup != nil {
            header.cgroup = next
            next += 1
        }
        switch request.session {
        case .inherited: header.session = WD_SPAWN_SESSION_INHERIT
        case .newSession: header.session = WD_SPAWN_SESSION_NEW
        case .newProcessGroup(let terminal):
            header.session = WD_SPAWN_SESSION_NEW_GROUP
            if terminal != nil { header.terminal = next }
        }
    }

    private mutating func addLimits(of request: SpawnRequest) {
        let limits = request.limits.map { wd_spawn_limit(resource: $0.resource.rawValue, soft: $0.soft, hard: $0.hard) }
        point(\.limits, to: add(limits))
        header.limit_count = UInt64(limits.count)
        header.has_niceness = request.niceness != nil
        header.niceness = request.niceness ?? 0
        header.file_mode_mask = request.fileModeMask.map { Int32($0 & 0o777) } ?? -1
        if let score = request.oomScoreAdjustment { point(\.oom_score_adjustment, to: add(ByteString("\(score)"))) }
    }

    private mutating func addRights(of request: SpawnRequest) {
        header.no_new_privileges = request.noNewPrivileges
        header.drops_capabilities = request.dropsCapabilities
        header.has_credentials = request.credentials != nil
        header.user = request.credentials?.user ?? 0
        header.group = request.credentials?.group ?? 0
        let groups = request.credentials?.supplementaryGroups ?? []
        point(\.groups, to: add(groups))
        header.group_count = UInt64(groups.count)
    }
}

extension SpawnRequest {
    /// The descriptors that the launcher gets besides the status socket and the file, in this order: cgroup, terminal,
    /// passed descriptors.
    var passedDescriptors: [Int32] {
        var numbers: [Int32] = []
        if let cgroup { numbers.append(cgroup.number) }
        if case .newProcessGroup(let terminal?) = session { numbers.append(terminal) }
        return numbers + descriptors.map(\.source)
    }

    /// The index of the first passed descriptor among all that the launcher gets.
    fileprivate var firstDescriptor: Int {
        2 + passedDescriptors.count - descriptors.count
    }
}
