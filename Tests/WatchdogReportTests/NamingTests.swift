// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Names added later")
struct NamingTests {
    private static let known = NamingAnswer.Call(
        symbol: "update()", symbolLocation: 4, sourceFile: "/src/a.c", sourceLine: 3, isInlined: false)
    private static let unknown = NamingAnswer.Call(
        symbol: nil, symbolLocation: nil, sourceFile: nil, sourceLine: nil, isInlined: false)

    private func naming(_ report: Report = Samples.report()) throws -> ReportNaming {
        try #require(ReportNaming(report))
    }

    @Test("Images without names are those with frames without name or line, and a build-id identifies their files")
    func images() throws {
        let images = try naming().images
        #expect(images.map(\.name) == ["hang-main", "libc.so.6"])
        #expect(images.map(\.unnamed) == [1, 0])
        #expect(images.first?.buildID == "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304")
        #expect(ReportNaming(try ReportCoding.decode(Array(ForeignSample.ips.utf8))) == nil)
    }

    @Test("A caller is looked up before its return address, the innermost frame at its own address")
    func lookups() throws {
        let (request, order) = try naming().request(for: [0, 1])
        #expect(request.fault == nil)
        #expect(order == [0, 1])
        #expect(
            request.addresses == [
                .init(image: 1, offset: 0x10f2ad, lookup: 0x10f2ad, isInnermost: true),
                .init(image: 0, offset: 0x2000, lookup: 0x1fff, isInnermost: false),
            ])
        #expect(try naming().request(for: [7, -1]).request.addresses == [])
    }

    @Test("Inlined calls become separate frames, with the trust of the machine's frame, and the notes follow")
    func inlined() throws {
        let naming = try naming()
        let (request, order) = naming.request(for: [0])
        var inlined = Self.known
        inlined.isInlined = true
        inlined.symbol = "lock()"
        let answer = NamingAnswer(calls: [[inlined, Self.known]], notes: [])
        #expect(answer.fault(as: request) == nil)
        let (report, outcome) = naming.report(with: answer, to: request, images: order)
        #expect(outcome.named == 1 && outcome.located == 0 && outcome.isChange)
        let thread = report.body.threads[0]
        #expect(
            thread.frames.map(\.symbol) == [
                "recv", "Socket.receive()", "closure #1 in Worker.run(depth:)", "lock()", "update()",
                "__libc_start_call_main",
            ])
        #expect(thread.frames[3].inline == true && thread.frames[3].imageOffset == 0x2000)
        #expect(report.body.linux?.threads[0].trust == [.registers, .cfi, .cfi, .prologue, .prologue, .scan])
        let notes = report.body.linux?.notes ?? []
        #expect(notes.contains("Frame 5 of thread 0 was found by scanning the stack and may be stale"))
        #expect(!notes.contains { $0.hasPrefix("Frame 4 ") })
        #expect(notes.last == "1 frame got names or lines later, from debug data with the same build-ids")
        let lines = report.body.applicationSpecificInformation?["watchdogd"] ?? []
        #expect(lines.contains("Note: Frame 5 of thread 0 was found by scanning the stack and may be stale"))
        #expect(try ReportCoding.decode(try ReportCoding.encode(report)) == report)
    }

    @Test("An empty answer leaves the report unchanged")
    func nothing() throws {
        let naming = try naming()
        let (request, order) = naming.request(for: [0, 1])
        let calls = request.addresses.map { _ in [Self.unknown] }
        let (report, outcome) = naming.report(with: NamingAnswer(calls: calls, notes: []), to: request, images: order)
        #expect(!outcome.isChange)
        #expect(report == Samples.report())
        #expect(outcome.unnamed == 2, "one in an image without a file")
    }

    @Test("The verdict on a crash names the place in headline, list and JSON; everything but names stays")
    func crash() throws {
        var capture = Crashes.capture(.core)
        for index in capture.threads[1].frames.indices {
            capture.threads[1].frames[index].symbol = nil
            capture.threads[1].frames[index].symbolLocation = nil
            capture.threads[1].frames[index].sourceFile = nil
        }
        let before = Crashes.report(Crashes.segmentation, capture: capture)
        let headline = "Crashed: SIGSEGV at 0x18 (where no memory is mapped) in"
        #expect(before.body.linux?.verdict.line == "\(headline) hang-main + 0x3100, on thread 4243")
        func renamed(_ report: Report) throws -> Report {
            let naming = try naming(report)
            let (request, order) = naming.request(for: [0])
            let calls = request.addresses.map { $0.offset == 0x3100 ? [Self.known] : [Self.unknown] }
            return naming.report(with: NamingAnswer(calls: calls, notes: []), to: request, images: order).report
        }
        let after = try renamed(before)
        #expect(after.body.linux?.verdict.line == "\(headline) update() (a.c:3), on thread 4243")
        #expect(after.body.linux?.verdict.brief == "SIGSEGV in update()")
        #expect(after.metadata.linux?.verdict == "SIGSEGV in update()")
        #expect(
            after.body.applicationSpecificInformation?["watchdogd"]?.first == after.body.linux?.verdict.line)
        #expect(Explanation(of: after).verdict == after.body.linux?.verdict.line)
        // A verdict in another version's words is left alone.
        var foreign = before
        foreign.body.linux?.verdict.line = "It crashed"
        #expect(try renamed(foreign).body.linux?.verdict == foreign.body.linux?.verdict)
        let hang = try renamed(Samples.report())
        #expect(hang.body.linux?.verdict == Samples.report().body.linux?.verdict)
    }

    @Test("A thunk is omitted, unless it is the innermost frame")
    func thunks() throws {
        let naming = try naming()
        let (request, order) = naming.request(for: [0, 1])
        let answer = NamingAnswer(calls: request.addresses.map { _ in [] }, notes: [])
        let (report, _) = naming.report(with: answer, to: request, images: order)
        #expect(report.body.threads[0].frames.count == 4)
        #expect(report.body.threads[0].frames.first?.symbol == "recv")
        #expect(report.body.linux?.threads[0].trust == [.registers, .cfi, .cfi, .scan])
    }

    @Test("Unnamed functions in the tree of samples get their names")
    func looks() throws {
        var report = try #require(Causes.all.first { $0.name == "spinning" }?.report)
        let index = try #require(report.body.linux?.samples?.calls.firstIndex { $0.image == "hang-main" })
        report.body.linux?.samples?.calls[index].function = "hang-main + 0x2000"
        let naming = try naming(report)
        let (request, order) = naming.request(for: [0])
        let calls = request.addresses.map { $0.offset == 0x2000 ? [Self.known] : [Self.unknown] }
        let named = naming.report(with: NamingAnswer(calls: calls, notes: []), to: request, images: order).report
        #expect(named.body.linux?.samples?.calls[index].function == "update()")
        #expect(named.body.linux?.samples?.calls[index].source == "a.c:3")
    }

    @Test("Requests and answers that do not match are reported")
    func faults() throws {
        let image = NamingRequest.Image(base: 0x1000, size: 0x1000, path: "/a")
        let address = NamingRequest.Address(image: 0, offset: 4, lookup: 3, isInnermost: false)
        #expect(NamingRequest(images: [image], addresses: [address]).fault == nil)
        #expect(NamingRequest(images: [image, image], addresses: []).fault != nil, "overlap")
        #expect(NamingRequest(images: [.init(base: .max, size: 2, path: "")], addresses: []).fault != nil)
        #expect(NamingRequest(images: [], addresses: [address]).fault != nil)
        var beyond = address
        beyond.lookup = 0x1000
        #expect(NamingRequest(images: [image], addresses: [beyond]).fault != nil)
        let request = NamingRequest(images: [image], addresses: [address])
        #expect(NamingAnswer(calls: [], notes: []).fault(as: request) != nil)
        var call = Self.known
        call.isInlined = true
        #expect(NamingAnswer(calls: [[call]], notes: []).fault(as: request) != nil)
        let inlined = [call]
        for (count, isFault) in [(63, false), (64, true)] {
            let calls = Array(repeating: inlined, count: count).flatMap(\.self) + [Self.known]
            #expect((NamingAnswer(calls: [calls], notes: []).fault(as: request) != nil) == isFault, "\(count)")
        }
        call = Self.known
        call.symbolLocation = nil
        #expect(NamingAnswer(calls: [[call]], notes: []).fault(as: request) != nil)
    }

    @Test("A thread grows to its frame limit, and then gets the names of its machine frames alone")
    func manyInlined() throws {
        var inlined = Self.known
        inlined.isInlined = true
        let answer = NamingAnswer(calls: [[inlined, inlined, inlined, Self.known]], notes: [])
        for (count, grown) in [(127, 508), (128, 512), (129, 129 + 3 * 127), (512, 512), (600, 600)] {
            var report = Samples.report()
            report.body.threads[0].frames = Array(
                repeating: FrameInfo(imageOffset: 0x2000, imageIndex: 0), count: count)
            report.body.linux?.threads[0].trust = Array(repeating: .cfi, count: count)
            report.body.linux?.threads[0].asynchronousFrames = []
            let naming = try naming(report)
            let (request, order) = naming.request(for: [0])
            let calls = request.addresses.map { _ in answer.calls[0] }
            let answer = NamingAnswer(calls: calls, notes: [])
            let (named, outcome) = naming.report(with: answer, to: request, images: order)
            let frames = named.body.threads[0].frames
            #expect(frames.count == grown)
            #expect(named.body.linux?.threads[0].trust.count == grown)
            #expect(frames.count { $0.inline != true } == count && frames.allSatisfy { $0.symbol == "update()" })
            #expect(outcome.named == count)
        }
    }

    @Test("All names together fit the limits of a report")
    func manyNames() throws {
        var report = Samples.report()
        var call = Self.known
        call.symbol = String(repeating: "n", count: 1_000)
        let frames = Array(repeating: FrameInfo(imageOffset: 0x2000, imageIndex: 0), count: 512)
        report.body.threads = Array(repeating: report.body.threads[0], count: 40)
        for index in report.body.threads.indices { report.body.threads[index].frames = frames }
        report.body.linux?.threads = []
        let naming = try naming(report)
        let (request, order) = naming.request(for: [0])
        let answer = NamingAnswer(calls: request.addresses.map { _ in [call] }, notes: [])
        let (named, outcome) = naming.report(with: answer, to: request, images: order)
        #expect(outcome.named + outcome.unnamed == 40 * 512)
        #expect((10_000...20_000).contains(outcome.named) && outcome.unnamed > 0)
        #expect(try ReportCoding.encode(named).count < ReportLimits.fileBytes)
    }

    @Test("A report from anybody, with images and addresses of any size, yields a valid request")
    func hostile() throws {
        var report = Samples.report()
        let numbers: [UInt64] = [0, 1, 0x1fff, 1 << 63, .max]
        for index in report.body.usedImages.indices {
            report.body.usedImages[index].base = numbers[index % numbers.count]
            report.body.usedImages[index].size = .max
        }
        let frames = numbers.flatMap { offset in
            [-1, 0, 1, 2, .max].map { FrameInfo(imageOffset: offset, imageIndex: $0) }
        }
        report.body.threads[0].frames = frames
        report.body.linux?.threads[1].asynchronousFrames = frames
        let naming = try naming(report)
        let (request, order) = naming.request(for: [0, 1, 2])
        #expect(request.fault == nil)
        let calls = request.addresses.map { _ in [Self.known] }
        let (named, _) = naming.report(with: NamingAnswer(calls: calls, notes: []), to: request, images: order)
        _ = TextRenderer.render(named)
    }
}
