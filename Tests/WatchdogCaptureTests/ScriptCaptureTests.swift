// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

/// With a program that has structures like those of V8, and describes them as V8 does; IntegrationTests has Node.js.
@Suite("A snapshot of a program that runs V8", .reapsChildren)
struct ScriptCaptureTests {
    /// A truth or a falsehood about V8, in the order of the subject's numbers.
    enum Lie: Int, CaseIterable, Sendable {
        case none, newerScope, thinName, wideName
        case compressed, wildOffset, noFunction, unmappedShared, giantName, giantScope, farPosition, ropeSource
    }

    private func scripts(_ lie: Lie, _ options: SnapshotOptions = .patient) throws -> (SnapshotScripts, [String]) {
        let program = try Compiler.shared.executable(machineSource, name: "libnode.so", flags: ["-rdynamic"])
        let subject = try Subject(program, ["\(lie.rawValue)"])
        while try subject.line() != "ready" {}
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, options)
        #expect(snapshot.timings.frozen < .seconds(1))
        let scripts = try #require(try snapshot.contents().scripts)
        let frames = (scripts.frames[subject.process] ?? [:]).sorted { $0.key < $1.key }
        let calls = frames.map { frame in
            let function = scripts.functions[frame.value]
            return "\(function.name.name ?? "-") \(function.file.name ?? "-"):\(function.line ?? 0)"
        }
        return (scripts, calls)
    }

    @Test("has what looks like frames of its functions", arguments: [Lie.none, .newerScope, .thinName, .wideName])
    func honest(lie: Lie) throws {
        for isStopped in [true, false] {
            var options = SnapshotOptions.patient
            if !isStopped { options.method = .procfsRegisters }
            let (scripts, calls) = try scripts(lie, options)
            #expect(scripts.reading == .complete)
            #expect(calls == ["load /srv/app.js:3", "load /srv/app.js:3"])
            #expect(scripts.functions.count == 1, "it is copied once")
        }
    }

    @Test("is neither delayed nor confused by a program that only claims to run it", arguments: Lie.allCases)
    func liar(lie: Lie) throws {
        let (scripts, calls) = try scripts(lie)
        switch lie {
        case .none, .newerScope, .thinName, .wideName: #expect(calls.count == 2)
        case .compressed, .wildOffset:
            #expect(scripts.reading == .unknownVersion)
            #expect(calls.isEmpty)
        case .noFunction, .unmappedShared: #expect(calls.isEmpty)
        case .giantName: #expect(scripts.functions.first?.name.bytes.count == 1024)
        case .giantScope: #expect(calls.first == "- /srv/app.js:0")
        case .farPosition, .ropeSource: #expect(calls.first == "load /srv/app.js:0")
        }
    }

    @Test("has no functions for a program that does not run it")
    func none() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        #expect(try Snapshot.take(of: subject.process, .patient).contents().scripts == nil)
    }

    // MARK: Hostile snapshots

    private static func function(name: UInt32 = 1, file: UInt32 = 1, kind: UInt8 = 1, text: String = "AB") -> [UInt8] {
        SnapshotBuilder.bytes(of: Int32(9)) + [kind, 1, 0, 0] + SnapshotBuilder.bytes(of: name)
            + SnapshotBuilder.bytes(of: file) + Array(text.utf8)
    }

    private static func stack(frames: Int = 1, extra: Int = 0) -> [UInt8] {
        SnapshotBuilder.bytes(of: Int32(1)) + [0, 0, 0, 0]
            + (0..<frames).flatMap { SnapshotBuilder.words(UInt64($0) + 0x700, 0) }
            + [UInt8](repeating: 0, count: extra)
    }

    private static func snapshot(_ records: [(kind: UInt32, bytes: [UInt8])]) -> [UInt8] {
        var builder = SnapshotBuilder()
        builder.process()
        for record in records { builder.record(record.kind, record.bytes) }
        return builder.bytes
    }

    @Test("is refused if its records of functions are malformed")
    func malformed() throws {
        let head = (kind: UInt32(18), bytes: SnapshotBuilder.words(0))
        let whole = [head, (19, Self.function()), (20, Self.stack())]
        let scripts = try #require(try SnapshotReader.parse(Self.snapshot(whole)).scripts)
        #expect(scripts.frames == [1: [0x700: 0]])
        #expect(scripts.functions.first?.name.name == "A" && scripts.functions.first?.file.name == "B")
        #expect(scripts.functions.first?.line == 9)
        let hostile: [[(UInt32, [UInt8])]] = [
            [head, head], [(18, SnapshotBuilder.words(3))], [(18, [0, 0, 0, 0])], [(19, Self.function())],
            [(20, Self.stack())], [head, (19, Self.function(text: "A"))], [head, (19, Self.function(name: 1025))],
            [head, (19, Self.function(kind: 4))], [head, (20, Self.stack(extra: 8))],
            [head, (20, Self.stack(frames: 1025))], [head, (20, Self.stack()), (20, Self.stack())],
            [head] + Array(repeating: (19, Self.function()), count: 2049),
        ]
        for records in hostile {
            #expect(throws: SnapshotFormatError.self) { try SnapshotReader.parse(Self.snapshot(records)) }
        }
    }
}

/// A C program with the objects of V8, one of which may be false; the function is on its stack twice.
private let machineSource = #"""
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    enum lie {
        NONE, NEWER_SCOPE, THIN_NAME, WIDE_NAME, COMPRESSED, WILD_OFFSET, NO_FUNCTION, UNMAPPED_SHARED, GIANT_NAME, GIANT_SCOPE,
        FAR_POSITION, ROPE_SOURCE
    };
    enum { SHARED = 300, SCOPE, SCRIPT, FUNCTION = 2000, TEXT = 8, WIDE_TEXT = 0, THIN = 5, ROPE = 9 };

    int v8dbg_off_fp_function = -16, v8dbg_TaggedSize = 8, v8dbg_class_Map__instance_type__uint16_t = 8;
    int v8dbg_class_JSFunction__shared__SharedFunctionInfo = 8;
    int v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_ = 8;
    int v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_ = 16;
    int v8dbg_class_Script__name__Object = 8, v8dbg_class_Script__source__Object = 16;
    int v8dbg_class_String__length__int32_t = 8, v8dbg_class_SeqOneByteString__chars__char = 16;
    int v8dbg_class_ThinString__actual__String = 16;
    int v8dbg_IsNotStringMask = -128, v8dbg_StringRepresentationMask = 7, v8dbg_StringEncodingMask = 8, v8dbg_ThinStringTag = 5;
    int v8dbg_type_JSFunction__JS_FUNCTION_TYPE = FUNCTION, v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE = SHARED;
    int v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE = SCOPE, v8dbg_type_Script__SCRIPT_TYPE = SCRIPT;

    #define TAGGED(pointer) ((uint64_t)(uintptr_t)(pointer) + 1)
    #define NUMBER(value) ((uint64_t)(value) << 32)

    struct map { uint64_t map, type; };
    struct text { uint64_t map; uint32_t length, hash; char bytes[2048]; };

    static uint64_t type(uint16_t number) {
        struct map *map = calloc(1, sizeof *map);
        map->map = TAGGED(map);
        map->type = number;
        return TAGGED(map);
    }

    static uint64_t *object(uint16_t number) {
        uint64_t *object = calloc(64, 8);
        object[0] = type(number);
        return object;
    }

    static struct text *text(const char *bytes) {
        struct text *text = calloc(1, sizeof *text);
        text->map = type(TEXT);
        text->length = strlen(bytes);
        strcpy(text->bytes, bytes);
        return text;
    }

    int main(int count, char **arguments) {
        enum lie lie = atoi(arguments[1]);
        volatile uint64_t frames[64] = {0};
        struct text *name = text("load"), *file = text("/srv/app.js"), *source = text("one\ntwo\nfunction load() {}\n");
        struct text *variable = text("kind");
        uint64_t *scope = object(SCOPE), *script = object(SCRIPT), *shared = object(SHARED), *function = object(FUNCTION);
        uint64_t shown = TAGGED(name);
        if (lie == THIN_NAME) {
            uint64_t *thin = object(THIN);
            thin[2] = TAGGED(name);
            shown = TAGGED(thin);
        }
        if (lie == WIDE_NAME) {
            name->map = type(WIDE_TEXT);
            memcpy(name->bytes, "l\0o\0a\0d\0", 8);
        }
        if (lie == GIANT_NAME) name->length = INT32_MAX;
        if (lie == ROPE_SOURCE) source->map = type(ROPE);
        /* The flags, the parameters, and one variable with its kind. */
        uint64_t *word = scope + 1, position = NUMBER(lie == FAR_POSITION ? 1 << 30 : 16);
        *word++ = NUMBER(4711);
        *word++ = NUMBER(1);
        *word++ = NUMBER(lie == GIANT_SCOPE ? 1 << 30 : 1);
        if (lie == NEWER_SCOPE) { *word++ = position; *word++ = NUMBER(1 << 30); }
        *word++ = TAGGED(variable);
        *word++ = NUMBER(18);
        *word++ = shown;
        *word++ = NUMBER(-1);
        *word++ = TAGGED(script);
        if (lie != NEWER_SCOPE) { *word++ = position; *word++ = NUMBER(1 << 30); }
        script[1] = TAGGED(file);
        script[2] = TAGGED(source);
        shared[1] = TAGGED(scope);
        shared[2] = TAGGED(script);
        function[1] = lie == UNMAPPED_SHARED ? 0x1001 : TAGGED(shared);
        if (lie == NO_FUNCTION) function[0] = type(FUNCTION + 17);
        if (lie == COMPRESSED) v8dbg_TaggedSize = 4;
        if (lie == WILD_OFFSET) v8dbg_class_Script__name__Object = 1 << 30;
        for (int i = 10; i <= 20; i += 10) {
            frames[i] = (uint64_t)(uintptr_t)(frames + i + 10);
            frames[i + 1] = (uint64_t)(uintptr_t)main;
            frames[i - 2] = TAGGED(function);
        }
        puts("ready");
        fflush(stdout);
        char byte;
        return (int)read(0, &byte, 1) + (frames[63] != 0);
    }
    """#
