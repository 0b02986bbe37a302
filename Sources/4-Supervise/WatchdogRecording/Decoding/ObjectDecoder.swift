// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Finds the files that a program mapped, and the dynamic linker's time for each.
struct ObjectDecoder {
    private struct Object {
        var path: String
        var first: Int64
        var begin: UInt64
        var end: UInt64
        var relocation: Duration?
        var isExecutable: Bool
    }

    /// The maximum number of objects; further ones are dropped.
    private static let limit = 4096

    private var objects: [Object] = []
    private var places: [String: Int] = [:]

    /// - Parameter sampled: the paths of the files on a sampled stack; nil without samples.
    static func objects(
        of log: LaunchLog, _ timeline: RecordTimeline, _ phases: PhaseDecoder, sampled: Set<String>?
    ) -> [LoadedObject] {
        var decoder = ObjectDecoder()
        decoder.read(log, timeline, phases)
        let shown = decoder.objects.filter(\.isExecutable)
        return shown.enumerated().map { index, object in
            let isLate = phases.mainBegan.map { object.first > $0 } ?? false
            // The kernel itself maps the program and its dynamic linker, which always run.
            let isLibrary = phases.mappingBegan.map { object.first >= $0 } ?? false
            let isSampled = sampled?.contains(object.path)
            return LoadedObject(
                path: object.path, mapped: .nanoseconds(object.first - log.requested.nanoseconds),
                mapping: isLate ? nil : Self.mapping(object, before: shown.dropFirst(index + 1).first, phases),
                relocation: object.relocation, size: Int(clamping: object.end - object.begin),
                isUsed: isLibrary || isSampled == true ? isSampled : nil, isLate: isLate)
        }
    }

    /// The time of mapping an object: until the next object's first segment, or until the last mapping.
    private static func mapping(_ object: Object, before next: Object?, _ phases: PhaseDecoder) -> Duration? {
        guard let begin = phases.mappingBegan, let end = phases.mapped, object.first >= begin, object.first <= end
        else {
            return nil
        }
        return .nanoseconds(max(min(next?.first ?? end, end) - object.first, 0))
    }

    private mutating func read(_ log: LaunchLog, _ timeline: RecordTimeline, _ phases: PhaseDecoder) {
        var relocating = phases.mapped
        for record in timeline.records where record.process == log.process {
            switch record.body {
            case .name(_, isExec: true):
                // execve(2) has removed all mappings of the previous program.
                objects = []
                places = [:]
            case .mapping(let mapping) where mapping.path.hasPrefix("/") && !mapping.path.hasPrefix("//"):
                take(mapping, at: record.time)
                // ld.so makes each object's RELRO segment read-only after it has relocated the object.
                guard let begin = relocating, let end = phases.relocated, record.time > begin, record.time <= end,
                    mapping.isReadOnly, let place = places[mapping.path]
                else { continue }
                objects[place].relocation = (objects[place].relocation ?? .zero) + .nanoseconds(record.time - begin)
                relocating = record.time
            default: break
            }
        }
    }

    private mutating func take(_ mapping: PerfRecord.ObjectMapping, at time: Int64) {
        let end = mapping.address.addingReportingOverflow(mapping.length)
        guard !end.overflow else { return }
        if let place = places[mapping.path] {
            objects[place].begin = min(objects[place].begin, mapping.address)
            objects[place].end = max(objects[place].end, end.partialValue)
            objects[place].isExecutable = objects[place].isExecutable || mapping.isExecutable
        } else if objects.count < Self.limit {
            places[mapping.path] = objects.count
            objects.append(
                Object(
                    path: mapping.path, first: time, begin: mapping.address, end: end.partialValue,
                    isExecutable: mapping.isExecutable))
        }
    }
}
