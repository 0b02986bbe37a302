// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("The message of systemd-coredump")
struct CoredumpMessageTests {
    private static let message = """
        Process 4711 (crasher) of user 1000 dumped core.

        Module libm.so.6 from deb glibc-2.36-9+deb12u10.amd64
        Stack trace of thread 4712:
        #0  0x0000557e0a6d1219 parse_header (crasher + 0x1219)
        #1  0x0000557e0a6d1226 std::map<int, (anonymous namespace)::Entry>::at(int) (/opt/a (b)/crasher + 0x1226)
        #2  0x00007f9c2d6c81f5 n/a (libc.so.6 + 0x891f5)
        #3  0x0000000000000000 n/a (n/a + 0x0)

        Stack trace of thread 4711:
        #0  0x00007f9c2d6c4f16 __futex_abstimed_wait_common64 (libc.so.6 + 0x85f16)
        #1  0x0000557e0a6d139f main (crasher + 0x139f)
        ELF object binary architecture: AMD x86-64
        """

    @Test("Its stacks are parsed: the crashed thread comes first, and the report begins with the main thread")
    func stacks() throws {
        let read = try #require(CoredumpMessage.read(Self.message, process: 4711))
        #expect(read.thread == 4712)
        #expect(read.capture.method == .journal)
        #expect(read.capture.threads.map(\.id) == [4711, 4712])
        let crashed = read.capture.threads[1].frames
        #expect(
            crashed.map(\.symbol) == [
                "parse_header", "std::map<int, (anonymous namespace)::Entry>::at(int)", nil, nil,
            ])
        let images = read.capture.images
        #expect(images[crashed[0].imageIndex].base == 0x557e_0a6d_0000)
        #expect(images[crashed[0].imageIndex].name == "crasher")
        #expect(images[crashed[1].imageIndex].path == "/opt/a (b)/crasher")
        #expect(crashed[2].imageOffset == 0x891f5 && images[crashed[2].imageIndex].name == "libc.so.6")
        #expect(read.capture.threads[0].frames.last?.symbol == "main")
        #expect(read.capture.threads[0].frames.last?.imageIndex == crashed[0].imageIndex)
    }

    @Test(
        "A text without stacks yields none",
        arguments: [
            "", "Process 4711 (crasher) of user 1000 dumped core.", "Stack trace of thread 4711:",
            "Stack trace of thread 4711:\n#0 nonsense", "Stack trace of thread -1:\n#0  0x1 a (b + 0x1)",
            "#0  0x0000557e0a6d1219 parse_header (crasher + 0x1219)",
            "Stack trace of thread 99999999999:\n#0  0x1 a (b + 0x1)",
        ])
    func none(message: String) {
        #expect(CoredumpMessage.read(message, process: 4711) == nil)
    }

    @Test("Hostile texts are bounded: lines, frames, threads, and offsets beyond the address")
    func hostile() throws {
        let long = String(repeating: "A", count: 1 << 20)
        #expect(CoredumpMessage.read("Stack trace of thread 1:\n#0  0x1 \(long) (b + 0x1)", process: 1) == nil)
        var text = "Stack trace of thread 1:\n"
        for number in 0..<2_000 { text += "#\(number)  0x10 a (b + 0x20)\n" }
        let read = try #require(CoredumpMessage.read(text, process: 1))
        #expect(read.capture.threads[0].frames.count == ReportLimits.framesPerThread)
        #expect(read.capture.images == [.unknown])
        var crowd = ""
        for number in 1...6_000 {
            crowd += "Stack trace of thread \(number):\n#0  0x10 a (b\(number) + 0x1)\n#1  0x10 a (c\(number) + 0x1)\n"
        }
        let many = try #require(CoredumpMessage.read(crowd, process: 1)).capture
        #expect(many.threads.count == ReportLimits.threads && many.images.count <= ReportLimits.images)
        let twice = "Stack trace of thread 1:\n#0  0x2 a (b + 0x1)\nStack trace of thread 1:\n#0  0x3 c (b + 0x1)\n"
        #expect(CoredumpMessage.read(twice, process: 1)?.capture.threads.count == 1)
    }

    @Test("A carriage return before the end of a line does not join it with the next")
    func carriageReturns() throws {
        let text = Self.message.replacing("of user 1000 dumped core.", with: "of user 1000 dumped core.\r")
            .replacing("parse_header (crasher + 0x1219)", with: "parse\r\nStack trace of thread 7:\r")
        let read = try #require(CoredumpMessage.read(text, process: 4711))
        #expect(read.capture.threads.map(\.id) == [4711, 7, 4712])
        #expect(read.capture.threads[1].frames.count == 3)
    }

    @Test("Every truncated text, and every changed byte, is parsed without a trap")
    func mangled() {
        let bytes = Array(Self.message.utf8)
        for end in bytes.indices {
            _ = CoredumpMessage.read(String(decoding: bytes[..<end], as: UTF8.self), process: 1)
        }
        for index in bytes.indices {
            for byte in [0, 10, 32, 40, 41, 0x30, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] = byte
                _ = CoredumpMessage.read(String(decoding: changed, as: UTF8.self), process: 4711)
            }
        }
    }
}
