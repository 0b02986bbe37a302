// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Collects the sampled stacks of the main thread.
struct SampleDecoder {
    /// A mapping of code, and its image.
    private struct Code {
        var mapping: PerfRecord.ObjectMapping
        var image: Int
        var base: UInt64
    }

    private static let depthLimit = 64
    private static let mappingLimit = 1 << 14

    private var stacks: SampledStacks
    private var mapped: [Code] = []
    /// The latest mapped addresses of the beginnings of files.
    private var bases: [String: UInt64] = [:]
    private var images: [SampledStacks.Image: Int] = [:]
    private var places: [SampledStacks.Place: Int] = [:]
    private var known: [Known: Int] = [:]

    private struct Known: Hashable {
        let stack: [Int]
        let phase: Int?
    }

    /// The stacks of a launch; nil without samples.
    ///
    /// - Parameter phases: its phases; samples after the last one are not part of the launch.
    static func stacks(of log: LaunchLog, _ timeline: RecordTimeline, in phases: [LaunchPhase]) -> SampledStacks? {
        guard log.samplingInterval > .zero else { return nil }
        var decoder = SampleDecoder(stacks: SampledStacks(interval: log.samplingInterval))
        let last = (log.requested + (phases.last?.end ?? .zero)).nanoseconds
        let begins = phases.map { (log.requested + $0.begin).nanoseconds }
        for record in timeline.records where record.process == log.process && record.time <= last {
            switch record.body {
            case .name(_, isExec: true): (decoder.mapped, decoder.bases) = ([], [:])
            case .mapping(let mapping): decoder.take(mapping)
            case .sample(let stack) where !stack.isEmpty:
                decoder.take(stack, in: begins.lastIndex { $0 <= record.time })
            default: break
            }
        }
        return decoder.stacks.counts.isEmpty ? nil : decoder.stacks
    }

    private init(stacks: SampledStacks) { self.stacks = stacks }

    private mutating func take(_ mapping: PerfRecord.ObjectMapping) {
        // A file's first segment is mapped before its others.
        if mapping.offset == 0, bases.count < Self.mappingLimit { bases[mapping.path] = mapping.address }
        guard mapping.isExecutable, mapped.count < Self.mappingLimit else { return }
        let base = bases[mapping.path].flatMap { $0 <= mapping.address ? $0 : nil } ?? mapping.address
        // Without the file's first segment, its load address is unknown, and offsets are meaningless.
        let isFile = mapping.path.hasPrefix("/") && !mapping.path.hasPrefix("//")
        let isKnown = isFile && bases[mapping.path] == base
        let image = SampledStacks.Image(path: mapping.path, inode: isKnown ? mapping.inode : 0)
        let index = images[image] ?? stacks.images.count
        if index == stacks.images.count {
            images[image] = index
            stacks.images.append(image)
        }
        mapped.append(Code(mapping: mapping, image: index, base: base))
    }

    private mutating func take(_ stack: [UInt64], in phase: Int?) {
        var indices: [Int] = []
        for (depth, address) in stack.prefix(Self.depthLimit).enumerated().reversed() {
            // Search backwards: later mappings replace earlier ones. Code without frame pointers leaves values in
            // between that are not addresses of code.
            guard
                let code = mapped.last(where: {
                    address >= $0.mapping.address && address - $0.mapping.address < $0.mapping.length
                })
            else { continue }
            let place = SampledStacks.Place(
                image: code.image, offset: address - code.base, isInnermost: depth == 0)
            let index = places[place] ?? stacks.places.count
            if index == stacks.places.count {
                places[place] = index
                stacks.places.append(place)
            }
            indices.append(index)
        }
        let key = Known(stack: indices, phase: phase)
        let index = known[key] ?? stacks.counts.count
        if index == stacks.counts.count {
            known[key] = index
            stacks.counts.append((indices, phase, 0))
        }
        stacks.counts[index].count += 1
    }
}
