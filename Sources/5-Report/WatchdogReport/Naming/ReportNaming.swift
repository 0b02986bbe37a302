// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// Adds names and lines to the frames of a stored report that were not available when it was written.
///
/// Only names are added: addresses, offsets and everything else stay as they are.
public struct ReportNaming: Sendable {
    /// An image with frames that lack a name or a line.
    public struct Image: Equatable, Sendable {
        /// Index into ``ReportBody/usedImages``.
        public let index: Int
        /// The name of the image.
        public let name: String
        /// The path in the process.
        public let path: String
        /// The build ID in lower-case hexadecimal; nil if the report has none, so that no file can be matched.
        public let buildID: String?
        /// The number of frames without a name.
        public let unnamed: Int
    }

    /// The numbers of added names and lines.
    public struct Outcome: Equatable, Sendable {
        /// The number of frames that had no name and now have one.
        public internal(set) var named = 0
        /// The number of frames that had a name and now have a line.
        public internal(set) var located = 0
        /// The number of frames that still have no name.
        public internal(set) var unnamed = 0

        /// Creates an empty outcome.
        public init() {}

        /// Whether anything was added.
        public var isChange: Bool { named + located > 0 }
    }

    /// The place of a frame in the report.
    private struct Place: Hashable {
        let image: Int
        let offset: UInt64
        let lookup: UInt64
        let isInnermost: Bool
    }

    private let report: Report
    private let buildIDs: [String?]

    /// Prepares a report; nil for one that is not from watchdogd and therefore lacks full build IDs.
    public init?(_ report: Report) {
        guard let linux = report.body.linux else { return nil }
        self.report = report
        buildIDs = linux.buildIDs
    }

    /// The images that lack names, those with the most unnamed frames first.
    public var images: [Image] {
        var unnamed: [Int: Int] = [:]
        forEachPlace { place, group in
            unnamed[place.image, default: 0] += group.last?.symbol == nil ? 1 : 0
        }
        return unnamed.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.compactMap { index, count in
            let image = report.body.usedImages[index]
            guard image.source != "A", image.size > 0 else { return nil }
            let id = buildIDs.indices.contains(index) ? buildIDs[index] : nil
            return Image(
                index: index, name: image.name ?? "???", path: image.path ?? "",
                buildID: id.flatMap { Self.isBuildID($0) ? $0.lowercased() : nil }, unnamed: count)
        }
    }

    /// The request for names in some of the images.
    ///
    /// - Parameter indices: each an ``Image/index`` whose file is available.
    /// - Returns: the request, and the index of each of its images.
    public func request(for indices: Set<Int>) -> (request: NamingRequest, images: [Int]) {
        let all = report.body.usedImages
        let sorted = indices.filter(all.indices.contains).sorted { (all[$0].base, $0) < (all[$1].base, $1) }
        var chosen: [Int] = []
        var end: UInt64 = 0
        for index in sorted.prefix(NamingRequest.imageLimit) {
            let image = all[index]
            // Overlapping images indicate a damaged report.
            guard image.base >= end, image.size > 0, image.base <= .max - image.size else { continue }
            end = image.base + image.size
            chosen.append(index)
        }
        let numbers = Dictionary(uniqueKeysWithValues: chosen.enumerated().map { ($0.element, $0.offset) })
        var addresses: [NamingRequest.Address] = []
        var seen: Set<Place> = []
        forEachPlace { place, _ in
            guard let number = numbers[place.image], addresses.count < NamingRequest.addressLimit,
                place.lookup < all[place.image].size, place.offset <= all[place.image].size,
                seen.insert(place).inserted
            else { return }
            addresses.append(
                .init(image: number, offset: place.offset, lookup: place.lookup, isInnermost: place.isInnermost))
        }
        let images = chosen.map {
            NamingRequest.Image(base: all[$0].base, size: all[$0].size, path: all[$0].path ?? all[$0].name ?? "")
        }
        return (NamingRequest(images: images, addresses: addresses), chosen)
    }

    /// Adds the names of an answer to the report.
    ///
    /// - Parameters:
    ///   - answer: an answer for which ``NamingAnswer/fault(as:)`` is nil.
    ///   - request: the request that was answered.
    ///   - images: the index of each image of the request.
    public func report(
        with answer: NamingAnswer, to request: NamingRequest, images: [Int]
    ) -> (report: Report, outcome: Outcome) {
        var names: [Place: [NamingAnswer.Call]] = [:]
        for (address, calls) in zip(request.addresses, answer.calls) where images.indices.contains(address.image) {
            let place = Place(
                image: images[address.image], offset: address.offset, lookup: address.lookup,
                isInnermost: address.isInnermost)
            names[place] = calls.map(Self.safe)
        }
        var result = report
        var outcome = Outcome()
        var bytesLeft = ReportLimits.frameBytes
        for index in report.body.threads.indices {
            let trust = self.trust(index)
            let (frames, kept) = renamed(report.body.threads[index].frames, trust, names, &outcome, &bytesLeft)
            result.body.threads[index].frames = frames
            guard result.body.linux?.threads.indices.contains(index) == true else { continue }
            if let trust { result.body.linux?.threads[index].trust = kept.map { trust[$0] } }
            if let frames = report.body.linux?.threads[index].asynchronousFrames {
                result.body.linux?.threads[index].asynchronousFrames =
                    renamed(frames, nil, names, &outcome, &bytesLeft, isAsynchronous: true).frames
            }
        }
        renameSamples(in: &result, names, &bytesLeft)
        if outcome.isChange { result.noteNames(outcome, before: report) }
        return (result, outcome)
    }

    // MARK: - Frames

    private func trust(_ thread: Int) -> [Frame.Trust]? {
        guard let linux = report.body.linux, linux.threads.indices.contains(thread),
            linux.threads[thread].trust.count == report.body.threads[thread].frames.count
        else { return nil }
        return linux.threads[thread].trust
    }

    /// Calls the body for each machine frame without a name or a line, together with the calls inlined there.
    private func forEachPlace(_ body: (Place, ArraySlice<FrameInfo>) -> Void) {
        func visit(_ frames: [FrameInfo], _ trust: [Frame.Trust]?, isAsynchronous: Bool) {
            for group in Self.groups(frames) where Self.lacks(frames[group]) {
                guard let place = place(group, in: frames, trust, isAsynchronous) else { continue }
                body(place, frames[group])
            }
        }
        for (index, thread) in report.body.threads.enumerated() {
            visit(thread.frames, trust(index), isAsynchronous: false)
            guard let details = report.body.linux?.threads, details.indices.contains(index) else { continue }
            visit(details[index].asynchronousFrames, nil, isAsynchronous: true)
        }
        for call in report.body.linux?.samples?.calls ?? [] {
            if let place = place(of: call) {
                body(place, [FrameInfo(imageOffset: place.offset, imageIndex: place.image)])
            }
        }
    }

    /// Groups of frames: the last one of each is a machine frame, and the others are inlined into it.
    private static func groups(_ frames: [FrameInfo]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        for (index, frame) in frames.enumerated() where frame.inline != true {
            groups.append(start..<index + 1)
            start = index + 1
        }
        return groups
    }

    private static func lacks(_ group: ArraySlice<FrameInfo>) -> Bool {
        // An interpreter's debug data does not contain the interpreted functions.
        group.last?.language == nil && (group.last?.symbol == nil || group.allSatisfy { $0.sourceFile == nil })
    }

    private func place(
        _ group: Range<Int>, in frames: [FrameInfo], _ trust: [Frame.Trust]?, _ isAsynchronous: Bool
    ) -> Place? {
        guard let frame = frames[group].last, report.body.usedImages.indices.contains(frame.imageIndex),
            report.body.usedImages[frame.imageIndex].source != "A"
        else { return nil }
        // A return address may already belong to the next function. An address that a signal interrupted is not a
        // return address.
        let isSignal = group.lowerBound > 0 && frames[group.lowerBound - 1].symbol == "__restore_rt"
        let isInnermost = !isAsynchronous && group.lowerBound == 0
        let isExact =
            isAsynchronous || isSignal || (trust.map { $0[group.upperBound - 1] == .registers } ?? isInnermost)
        let lookup = isExact || frame.imageOffset == 0 ? frame.imageOffset : frame.imageOffset - 1
        return Place(
            image: frame.imageIndex, offset: frame.imageOffset, lookup: lookup, isInnermost: isInnermost)
    }

    private func renamed(
        _ frames: [FrameInfo], _ trust: [Frame.Trust]?, _ names: [Place: [NamingAnswer.Call]], _ outcome: inout Outcome,
        _ bytesLeft: inout Int, isAsynchronous: Bool = false
    ) -> (frames: [FrameInfo], kept: [Int]) {
        var result: [FrameInfo] = []
        var kept: [Int] = []
        // The limit applies only to added inlined calls; existing ones are kept.
        var room = max(0, ReportLimits.framesPerThread - frames.count)
        for group in Self.groups(frames) {
            let old = frames[group]
            let calls =
                Self.lacks(old) ? place(group, in: frames, trust, isAsynchronous).flatMap { names[$0] } : nil
            // New reports omit functions that only forward to another one, so remove them here, too.
            if let calls, calls.isEmpty, old.last?.symbol == nil, group.lowerBound > 0 || isAsynchronous {
                outcome.named += 1
                continue
            }
            guard let calls = calls.map({ $0.count - old.count > room ? $0.suffix(1) : $0[...] }),
                let frame = old.last, Self.isBetter(calls, than: old), Self.pay(for: calls, &bytesLeft)
            else {
                result += old
                kept += group
                outcome.unnamed += old.last?.symbol == nil ? 1 : 0
                continue
            }
            if frame.symbol == nil { outcome.named += 1 } else { outcome.located += 1 }
            room -= max(0, calls.count - old.count)
            result += calls.map { call in
                FrameInfo(
                    imageOffset: frame.imageOffset, imageIndex: frame.imageIndex, symbol: call.symbol,
                    symbolLocation: call.symbolLocation, sourceFile: call.sourceFile, sourceLine: call.sourceLine,
                    inline: call.isInlined ? true : nil)
            }
            kept += Array(repeating: group.upperBound - 1, count: calls.count)
        }
        // Inlined calls without their machine frame: a damaged report.
        let rest = (Self.groups(frames).last?.upperBound ?? 0)..<frames.count
        return (result + frames[rest], kept + rest)
    }

    /// The sanitized form of a call, which is computed once for all frames with this address.
    private static func safe(_ call: NamingAnswer.Call) -> NamingAnswer.Call {
        var call = call
        call.symbol = call.symbol?.singleLine(limit: ReportLimits.symbolLength)
        call.sourceFile = call.sourceFile?.singleLine(limit: ReportLimits.symbolLength)
        return call
    }

    /// Deducts the size of some calls in the file from the budget for all; false if the budget does not suffice.
    private static func pay(for calls: ArraySlice<NamingAnswer.Call>, _ bytesLeft: inout Int) -> Bool {
        // JSON doubles quotes and backslashes.
        let cost = calls.reduce(0) { $0 + 300 + 2 * (($1.symbol?.utf8.count ?? 0) + ($1.sourceFile?.utf8.count ?? 0)) }
        guard cost <= bytesLeft else { return false }
        bytesLeft -= cost
        return true
    }

    private static func isBetter(_ calls: ArraySlice<NamingAnswer.Call>, than old: ArraySlice<FrameInfo>) -> Bool {
        guard let last = calls.last else { return false }
        guard old.last?.symbol != nil else { return last.symbol != nil }
        return last.symbol != nil && calls.contains { $0.sourceFile != nil }
    }

    // MARK: - Samples

    /// Parses `program + 0x1234`, the form in which a report's call tree shows a function without a name.
    private func place(of call: SampleDetails.Call) -> Place? {
        let parts = call.function.split(separator: " ")
        guard parts.count == 3, parts[1] == "+", parts[2].hasPrefix("0x"), parts[0] == call.image ?? "",
            let offset = UInt64(parts[2].dropFirst(2), radix: 16), offset > 0
        else { return nil }
        let same = report.body.usedImages.indices.filter { report.body.usedImages[$0].name == call.image }
        guard same.count == 1, let index = same.first else { return nil }
        return Place(image: index, offset: offset, lookup: offset - 1, isInnermost: false)
    }

    private func renameSamples(
        in result: inout Report, _ names: [Place: [NamingAnswer.Call]], _ bytesLeft: inout Int
    ) {
        guard let calls = report.body.linux?.samples?.calls else { return }
        result.body.linux?.samples?.calls = calls.map { call in
            guard let place = place(of: call), let last = names[place]?.last, let symbol = last.symbol,
                Self.pay(for: [last], &bytesLeft)
            else { return call }
            var call = call
            call.function = symbol
            call.source = last.sourceFile.map { file in
                let name = String(file.split(separator: "/").last ?? "").singleLine(limit: 255)
                return last.sourceLine.map { "\(name):\($0)" } ?? name
            }
            return call
        }
    }

    private static func isBuildID(_ text: String) -> Bool {
        (2...128).contains(text.utf8.count) && text.utf8.count % 2 == 0
            && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}
