// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogReport

extension RecordedLaunch {
    /// Names the timed constructors, as far as their files have symbols.
    ///
    /// `watchdogd-symbolicate` reads the files. A constructor without a name keeps its offset, and a note says why.
    mutating func nameConstructors(with symbolicator: Symbolicator) {
        guard let constructors = recording.constructors, !constructors.isEmpty else { return }
        let naming = ConstructorNaming(constructors, probes: probes)
        let job = SampleNaming(naming.addresses)
        recording.notes += job.notes.filter { !recording.notes.contains($0) }
        guard !job.request.addresses.isEmpty else { return }
        do throws(SymbolicationError) {
            let answer = try symbolicator.names(job.request, files: job.files)
            recording.constructors = naming.named(job.names(in: answer))
        } catch {
            let reason = error.message.isEmpty ? error.detail : "\(error.detail): \(error.message)"
            recording.notes.append(
                "The constructors have no names: watchdogd-symbolicate \(reason)".singleLine(limit: 1_024) + ".")
        }
    }
}

/// Requests the names of constructors like those of functions in samples.
struct ConstructorNaming {
    /// The maximum length of a name, in characters.
    private static let nameLimit = 255

    private struct Function: Hashable {
        var path: String
        var offset: UInt64
    }

    private let constructors: [LaunchConstructor]
    private let places: [Function: Int]
    /// The start addresses of the constructors.
    let addresses: SampledStacks

    /// - Parameter probes: the probes of the constructors, which have the inodes of the files.
    init(_ constructors: [LaunchConstructor], probes: [LaunchLog.Probe]) {
        self.constructors = constructors
        let ran = Set(constructors.map { Function(path: $0.object, offset: $0.offset) })
        var images: [SampledStacks.Image: Int] = [:]
        var places: [Function: Int] = [:]
        var addresses = SampledStacks()
        for probe in probes {
            let function = Function(path: probe.path, offset: probe.offset)
            guard ran.contains(function), places[function] == nil else { continue }
            let image = SampledStacks.Image(path: probe.path, inode: probe.inode)
            let index = images[image] ?? addresses.add(image)
            images[image] = index
            places[function] = addresses.add(.init(image: index, offset: probe.offset, isInnermost: true))
        }
        self.places = places
        self.addresses = addresses
    }

    /// The constructors with names.
    ///
    /// - Parameter names: by the index of their place, outermost first: calls inlined in a constructor follow it.
    func named(_ names: [Int: [String]]) -> [LaunchConstructor] {
        constructors.map { constructor in
            var constructor = constructor
            let place = places[Function(path: constructor.object, offset: constructor.offset)]
            constructor.function = place.flatMap { names[$0]?.first }?.singleLine(limit: Self.nameLimit)
            return constructor
        }
    }
}
