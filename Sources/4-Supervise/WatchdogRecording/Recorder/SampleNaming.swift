// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogReport

extension RecordedLaunch {
    /// Names the functions in the samples and the timed constructors, as far as their files have symbols.
    ///
    /// `watchdogd-symbolicate` reads the files. If it cannot, file names replace function names, and a note gives the
    /// reason. Blocks for at most ten seconds; with timed constructors for twice as long.
    public mutating func nameFunctions() {
        let symbolicator = Symbolicator().limited(work: .seconds(3), budget: .seconds(10))
        nameSamples(with: symbolicator)
        nameConstructors(with: symbolicator)
    }

    mutating func nameSamples(with symbolicator: Symbolicator) {
        guard let stacks else { return }
        let job = SampleNaming(stacks)
        recording.notes += job.notes
        guard !job.request.addresses.isEmpty else { return }
        do throws(SymbolicationError) {
            let answer = try symbolicator.names(job.request, files: job.files)
            let names = job.names(in: answer)
            recording.samples = stacks.calls(named: names)
            stacks.addCalls(named: names, to: &recording.phases)
            recording.notes += answer.notes.prefix(4).map { "Names of functions: \($0)".singleLine(limit: 1_024) }
        } catch {
            let reason = error.message.isEmpty ? error.detail : "\(error.detail): \(error.message)"
            recording.notes.append(
                "The functions in the samples have no names: watchdogd-symbolicate \(reason)".singleLine(limit: 1_024)
                    + ".")
        }
    }
}

/// Requests the names of the functions in samples.
struct SampleNaming {
    let request: NamingRequest
    /// A file for each image of the request.
    let files: [OwnedDescriptor]
    /// Notes about files without usable symbols, with the reason.
    let notes: [String]
    /// The indices of the places of the request's addresses.
    private let places: [Int]

    init(_ stacks: SampledStacks) {
        var images: [NamingRequest.Image] = []
        var addresses: [NamingRequest.Address] = []
        var files: [OwnedDescriptor] = []
        var notes: [String] = []
        var asked: [Int] = []
        // Programs that the process executed one after the other have overlapping images, which a request may not
        // contain. So assign new addresses.
        var base: UInt64 = 1 << 32
        let groups = Dictionary(grouping: stacks.places.indices) { stacks.places[$0].image }
        for (index, image) in stacks.images.enumerated() where image.inode != 0 {
            guard let group = groups[index], images.count < NamingRequest.imageLimit else { continue }
            let offsets = group.filter { stacks.places[$0].offset < 1 << 32 }
                .prefix(NamingRequest.addressLimit - addresses.count)
            guard let most = offsets.map({ stacks.places[$0].offset }).max() else { continue }
            do throws(LinuxError) {
                files.append(try Self.file(of: image))
            } catch {
                notes.append("Functions without names: \(error)".singleLine(limit: 1_024))
                continue
            }
            let size = (most / 4096 + 1) * 4096
            for place in offsets {
                let (offset, isInnermost) = (stacks.places[place].offset, stacks.places[place].isInnermost)
                // A return address may be in the next function, if the call was the last instruction.
                let lookup = isInnermost || offset == 0 ? offset : offset - 1
                addresses.append(
                    .init(image: images.count, offset: offset, lookup: lookup, isInnermost: isInnermost))
                asked.append(place)
            }
            images.append(NamingRequest.Image(base: base, size: size, path: image.path))
            base += size
        }
        request = NamingRequest(images: images, addresses: addresses)
        self.files = files
        self.notes = Array(notes.prefix(4))
        places = asked
    }

    /// Opens an image's file, unless another file has replaced it.
    private static func file(of image: SampledStacks.Image) throws(LinuxError) -> OwnedDescriptor {
        let file = try OwnedDescriptor.regularFile(at: ByteString(image.path))
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_ino == image.inode else {
            throw LinuxError("find the file that was mapped as \(image.path)", .noSuchFile)
        }
        return file
    }

    /// The names in a valid answer, by the index of their place, outermost first.
    func names(in answer: NamingAnswer) -> [Int: [String]] {
        var names: [Int: [String]] = [:]
        for (place, calls) in zip(places, answer.calls) {
            let known = calls.reversed().compactMap(\.symbol)
            if !known.isEmpty || calls.isEmpty { names[place] = known }
        }
        return names
    }
}
