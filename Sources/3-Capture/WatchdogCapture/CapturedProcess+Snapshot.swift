// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

extension CapturedProcess {
    /// Converts a snapshot without files or symbols.
    ///
    /// Every thread has its innermost frame and all words of its stack that may be return addresses (``StackWords``);
    /// the images have the build IDs by which symbols can be found later. It is the fallback if `watchdogd-symbolicate`
    /// fails.
    ///
    /// - Parameters:
    ///   - snapshot: the snapshot; if it cannot be parsed, the result has a note instead of threads.
    ///   - note: the reason for the missing symbols, in one sentence.
    ///   - mayPass: whether another attempt may find them.
    public static func withoutSymbols(
        from snapshot: Snapshot, because note: String, mayPass: Bool = false
    ) -> CapturedProcess {
        do throws(SnapshotFormatError) {
            var captured = CapturedProcess(try snapshot.contents(), descriptors: snapshot.modules, note: note)
            captured.shortage = mayPass ? note : nil
            return captured
        } catch {
            return CapturedProcess(
                method: snapshot.method,
                methodReason: snapshot.methodReason,
                frozenNanoseconds: UInt64(clamping: snapshot.timings.frozen.nanoseconds),
                threads: [],
                images: [],
                notes: [note, "No threads: \(error)."]
            )
        }
    }

    init(_ contents: SnapshotContents, descriptors: [Int32], note: String) {
        var images = contents.images(descriptors: descriptors)
        var needsUnknown = false
        let unknown = images.count
        var words = StackWords(contents.mappings)
        let threads = contents.threads.map { thread in
            var captured = CapturedThread(thread)
            captured.frames = words.frames(of: thread).map { found in
                let lookup = found.trust == .registers ? found.address : found.address - 1
                let index = images.index(containing: lookup)
                needsUnknown = needsUnknown || index == nil
                return Frame(
                    address: found.address,
                    imageIndex: index ?? unknown,
                    imageOffset: found.address - (index.map { images[$0].base } ?? 0),
                    trust: found.trust
                )
            }
            return captured
        }
        if needsUnknown { images.append(.unknown) }
        self.init(
            method: contents.process.method,
            methodReason: contents.process.methodReason,
            frozenNanoseconds: UInt64(clamping: contents.process.frozen.nanoseconds),
            threads: threads,
            images: images,
            notes: [note] + words.notes + (contents.process.truncation.map { ["Cut off: \($0)."] } ?? [])
        )
    }
}

extension [BinaryImage] {
    /// The index of the image with an address; the images are in ascending order and do not overlap.
    fileprivate func index(containing address: UInt64) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].base <= address { low = middle + 1 } else { high = middle }
        }
        guard low > 0, address - self[low - 1].base < self[low - 1].size else { return nil }
        return low - 1
    }
}

extension SnapshotContents {
    /// The mapped executables and the vDSO, by address.
    func images(descriptors: [Int32]) -> [BinaryImage] {
        let architecture = process.architecture == "x86-64" ? "x86_64" : process.architecture
        func image(_ start: UInt64, _ end: UInt64, _ path: String, _ buildID: String?) -> BinaryImage {
            BinaryImage(
                base: start,
                size: end - start,
                buildID: buildID,
                path: path,
                name: path.split(separator: "/").last.map(String.init) ?? path,
                architecture: architecture
            )
        }
        var images = modules.compactMap { module -> BinaryImage? in
            guard let end = endOfRun(at: module.start) else { return nil }
            let descriptor = module.descriptor.flatMap { descriptors.indices.contains($0) ? descriptors[$0] : nil }
            return image(module.start, end, module.path, descriptor.flatMap { BuildID.read(descriptor: $0) })
        }
        if let page = mappings.first(where: { $0.path == "[vdso]" }) {
            images.append(image(page.start, page.end, page.path, nil))
        }
        return images.sorted { $0.base < $1.base }
    }

    /// The end of the mappings of the file at `start`; anonymous memory may lie between them, but no other file.
    private func endOfRun(at start: UInt64) -> UInt64? {
        guard let index = mappings.firstIndex(where: { $0.start == start }) else { return nil }
        let first = mappings[index]
        var end = first.end
        for mapping in mappings[index...] where mapping.isFile {
            guard mapping.inode == first.inode, mapping.deviceMajor == first.deviceMajor,
                mapping.deviceMinor == first.deviceMinor
            else { break }
            end = mapping.end
        }
        return end
    }
}
