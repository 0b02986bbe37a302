// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogLinux
import WatchdogVerdict

@testable import WatchdogCapture

/// With a program that has structures like those of HotSpot, and describes them as HotSpot does; IntegrationTests has Java.
@Suite("A snapshot of a Java virtual machine", .reapsChildren)
struct JavaCaptureTests {
    /// A truth or a falsehood about a virtual machine, in the order of the subject's numbers.
    enum Lie: Int, CaseIterable, Sendable {
        case none, chain, newerPacking, ownerByNumber, ownerByStack, ownerByList, deoptimized
        case noField, wildOffset, wrongStride, giantList, unmappedMethod, falseScopes, giantName, circle, brokenMap
        case giantHeaps, unmappedStack, noCode, chainCircle, wildCode, staticCode, ownOwner
    }

    private struct Found {
        var java: SnapshotJava
        var main: Int32
        /// The other thread.
        var other: Int32

        /// The calls of the only thread, such as `shop/Cart.add Cart.java:9`; `native` for native code.
        var calls: [String] {
            (java.stacks[main] ?? []).map { frame in
                guard case .call(let method, let line, _) = frame else { return "native" }
                let found = java.methods[method]
                let texts = [found.type, found.name, found.file].map { String(decoding: $0, as: UTF8.self) }
                return "\(texts[0]).\(texts[1]) \(texts[2]):\(line ?? 0)"
            }
        }
    }

    private func machine(_ lie: Lie, _ options: SnapshotOptions = .patient) throws -> Found {
        let program = try Compiler.shared.executable(machineSource, name: "libjvm.so", flags: ["-rdynamic"])
        let subject = try Subject(program, ["\(lie.rawValue)"])
        while try subject.line() != "ready" {}
        try subject.waitForState("S")
        let snapshot = try Snapshot.take(of: subject.process, options)
        #expect(snapshot.timings.frozen < .seconds(1))
        let contents = try snapshot.contents()
        return Found(
            java: try #require(contents.java), main: subject.process, other: try #require(contents.threads.last?.id))
    }

    private static let calls = [
        "shop/Cart.add Cart.java:300", "shop/Shop.sell Shop.java:9", "shop/Shop.sell Shop.java:7", "native",
    ]

    @Test(
        "has the methods of each thread, inlined and interpreted ones, and who has its lock",
        arguments: [
            Lie.none, .chain, .newerPacking, .ownerByNumber, .ownerByStack, .ownerByList, .deoptimized,
        ])
    func honest(lie: Lie) throws {
        for isStopped in [true, false] {
            var options = SnapshotOptions.patient
            if !isStopped { options.method = .procfsRegisters }
            let found = try machine(lie, options)
            #expect(found.java.reading == .complete)
            #expect(found.java.version == (lie == .newerPacking ? 21 : 17))
            #expect(found.calls == Self.calls)
            #expect(found.java.lockOwners == [found.main: found.other])
            guard case .native(let caller) = found.java.stacks[found.main]?.last else { continue }
            #expect(caller.programCounter == 0x4711 && caller.framePointer == 0x4242)
        }
    }

    @Test("is neither delayed nor confused by a program that only claims to be one", arguments: Lie.allCases)
    func liar(lie: Lie) throws {
        let found = try machine(lie)
        switch lie {
        case .none, .chain, .newerPacking, .ownerByNumber, .ownerByStack, .ownerByList, .deoptimized, .giantList:
            #expect(found.calls == Self.calls)
        case .noField, .wildOffset, .wrongStride, .wildCode, .staticCode:
            #expect(found.java.reading == .unknownVersion)
            #expect(found.java.stacks.isEmpty)
        case .unmappedMethod: #expect(found.calls == [Self.calls[0], Self.calls[1], "native"])
        case .falseScopes: #expect(found.calls == ["shop/Shop.sell Shop.java:7"] + Self.calls.dropFirst(2))
        case .giantName:
            let name = try #require(found.java.methods.first?.name)
            #expect(name.count == 512)
        case .circle, .chainCircle: #expect(found.calls == Self.calls)
        case .ownOwner: #expect(found.java.lockOwners.isEmpty, "it has got the lock by now")
        case .unmappedStack: #expect(found.calls == Array(Self.calls.prefix(2)))
        case .brokenMap, .giantHeaps, .noCode: #expect(found.calls.isEmpty)
        }
    }

    @Test("has no methods for a program that is not one")
    func none() throws {
        let subject = try Subject("read")
        try subject.waitForState("S")
        #expect(try Snapshot.take(of: subject.process, .patient).contents().java == nil)
    }

    // MARK: Hostile snapshots

    private static func machine(reading: UInt32 = 0) -> [UInt8] {
        SnapshotBuilder.bytes(of: UInt32(17)) + SnapshotBuilder.bytes(of: reading)
    }

    private static func method(type: UInt32 = 1, name: UInt32 = 1, file: UInt32 = 1, text: String = "ABC") -> [UInt8] {
        SnapshotBuilder.bytes(of: type) + SnapshotBuilder.bytes(of: name) + SnapshotBuilder.bytes(of: file)
            + [UInt8](repeating: 0, count: 4) + Array(text.utf8)
    }

    private static func stack(thread: Int32 = 1, frames: Int = 1, extra: Int = 0) -> [UInt8] {
        let call = SnapshotBuilder.bytes(of: UInt32(0)) + SnapshotBuilder.bytes(of: Int32(9))
        let frame = SnapshotBuilder.words(0x4711, 0, 0) + call
        return SnapshotBuilder.bytes(of: thread) + SnapshotBuilder.bytes(of: Int32(2))
            + (0..<frames).flatMap { _ in frame } + [UInt8](repeating: 0, count: extra)
    }

    private static func snapshot(_ records: [(kind: UInt32, bytes: [UInt8])]) -> [UInt8] {
        var builder = SnapshotBuilder()
        builder.process()
        for record in records { builder.record(record.kind, record.bytes) }
        return builder.bytes
    }

    @Test("is refused if its records of methods are malformed")
    func malformed() throws {
        let head = (kind: UInt32(15), bytes: Self.machine())
        let whole = [head, (16, Self.method()), (17, Self.stack())]
        let java = try #require(try SnapshotReader.parse(Self.snapshot(whole)).java)
        #expect(java.stacks == [1: [.call(method: 0, line: 9, address: 0x4711)]])
        #expect(java.lockOwners == [1: 2])
        #expect(java.methods == [SnapshotJava.Method(type: [65], name: [66], file: [67])])
        let hostile: [[(UInt32, [UInt8])]] = [
            [head, head], [(15, Self.machine(reading: 3))], [(15, Array(Self.machine().prefix(7)))],
            [(16, Self.method())], [(17, Self.stack())], [head, (16, Self.method(text: "AB"))],
            [head, (16, Self.method(name: 513))],
            [head, (16, Array(Self.method().prefix(15)))], [head, (17, Self.stack(extra: 8))],
            [head, (17, Self.stack(frames: 513))], [head, (17, Self.stack()), (17, Self.stack())],
            [head] + Array(repeating: (16, Self.method()), count: 4097),
        ]
        for records in hostile {
            #expect(throws: SnapshotFormatError.self) { try SnapshotReader.parse(Self.snapshot(records)) }
        }
    }
}

/// A C program with the structures of a virtual machine, one of which may be false.
///
/// The stack of its main thread has a frame of compiled code, into which Cart.add is inlined, then one of the interpreter, then
/// the stub between Java's code and native code.
private let machineSource = #"""
    #include <pthread.h>
    #include <semaphore.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    enum lie {
        NONE, CHAIN, NEWER_PACKING, OWNER_BY_NUMBER, OWNER_BY_STACK, OWNER_BY_LIST, DEOPTIMIZED, NO_FIELD, WILD_OFFSET,
        WRONG_STRIDE, GIANT_LIST, UNMAPPED_METHOD, FALSE_SCOPES, GIANT_NAME, CIRCLE, BROKEN_MAP, GIANT_HEAPS, UNMAPPED_STACK,
        NO_CODE, CHAIN_CIRCLE, WILD_CODE, STATIC_CODE, OWN_OWNER
    };
    #define AT(pointer) ((uint64_t)(uintptr_t)(pointer))

    struct field { const char *type, *name, *text; int32_t is_static; uint64_t offset; void *address; };
    struct type { const char *name, *parent; int32_t kinds[4]; uint64_t size; };

    struct symbol { uint16_t length; char body[1024]; };
    struct klass { struct symbol *name; };
    struct pool { struct klass *holder; uint16_t file; uint64_t unused, entries[4]; };
    struct constant { struct pool *pool; uint16_t code_size, name, flags; char code[8]; unsigned char lines[8]; };
    struct method { struct constant *constant; };
    struct anchor { uint64_t sp, fp, pc; };
    struct wrapper { uint64_t unused; struct anchor anchor; };
    struct monitor { uint64_t owner; uint64_t *object; };
    struct thread {
        struct anchor anchor;
        uint64_t stack_base, stack_size;
        struct monitor *pending;
        struct thread *next;
        uint64_t number;
        uint32_t locks_top;
        uint64_t locks[8];
    };
    struct list { uint32_t length; struct thread **threads; };
    struct heaps { uint32_t length; struct heap **data; };
    struct heap { uint64_t low, high, map_low, map_high; uint32_t shift; };
    struct queue { uint64_t start; uint32_t length; };
    struct blob {
        const char *name;
        uint32_t size, frame, complete;
        uint64_t code;
        struct method *method;
        uint64_t scopes;
        uint32_t places, places_end, metadata, original_pc;
        uint64_t deoptimization;
    };
    struct block { uint64_t header[2]; struct blob blob; struct { int32_t code, scope, more[2]; } places[3]; void *methods[2];
                   unsigned char scopes[16]; };

    struct symbol shop = {9, "shop/Shop"}, cart = {9, "shop/Cart"}, sell = {4, "sell"}, add = {3, "add"};
    struct symbol shop_file = {9, "Shop.java"}, cart_file = {9, "Cart.java"};
    struct klass shop_class = {&shop}, cart_class = {&cart};
    struct pool shop_pool = {&shop_class, 2, 0, {0}}, cart_pool = {&cart_class, 2, 0, {0}};
    /* Line 7 from the start, line 9 from 4 on. */
    struct constant selling = {&shop_pool, 8, 1, 1, "", {0 << 3 | 7, 4 << 3 | 2, 0}};
    /* Line 300 from the start. */
    struct constant adding = {&cart_pool, 8, 1, 1, "", {0xff, 0, 216, 6, 0}};
    struct method sell_method = {&selling}, add_method = {&adding};

    _Alignas(4096) char code[8192];
    unsigned char map[64];
    char interpreter[64];
    struct heap heap = {0};
    struct heap *heap_list[1] = {&heap};
    struct heaps heaps = {1, heap_list};
    struct heaps *code_heaps = &heaps;
    struct queue queue;
    struct queue *interpreter_code = &queue;
    uint64_t call_return = 0x1234567;
    struct thread main_thread, other_thread;
    struct thread *threads[2] = {&main_thread, &other_thread}, *first_thread = &main_thread;
    struct list list = {2, threads};
    sem_t is_there;
    struct list *thread_list = &list;
    uint64_t object = 0x777;
    struct monitor monitor;
    struct wrapper wrapper;
    uint32_t version = 17;

    #define FIELD(type, name, structure, member) {type, name, "", 0, __builtin_offsetof(structure, member), NULL}
    #define STATIC(type, name, variable) {type, name, "", 1, 0, &variable}
    struct field fields[] = {
        FIELD("Unrelated", "_anchor", struct thread, number),
        FIELD("JavaThread", "_anchor", struct thread, anchor), FIELD("JavaThread", "_stack_base", struct thread, stack_base),
        FIELD("JavaThread", "_stack_size", struct thread, stack_size),
        FIELD("JavaThread", "_current_pending_monitor", struct thread, pending),
        FIELD("ObjectMonitor", "_owner", struct monitor, owner), FIELD("ObjectMonitor", "_object", struct monitor, object),
        FIELD("JavaFrameAnchor", "_last_Java_sp", struct anchor, sp), FIELD("JavaFrameAnchor", "_last_Java_fp", struct anchor, fp),
        FIELD("JavaFrameAnchor", "_last_Java_pc", struct anchor, pc), FIELD("JavaCallWrapper", "_anchor", struct wrapper, anchor),
        STATIC("CodeCache", "_heaps", code_heaps), FIELD("GrowableArrayBase", "_len", struct heaps, length),
        FIELD("GrowableArray<int>", "_data", struct heaps, data), FIELD("CodeHeap", "_memory", struct heap, low),
        FIELD("CodeHeap", "_segmap", struct heap, map_low), FIELD("CodeHeap", "_log2_segment_size", struct heap, shift),
        FIELD("VirtualSpace", "_low", struct heap, low), FIELD("VirtualSpace", "_high", struct heap, high),
        FIELD("CodeBlob", "_name", struct blob, name), FIELD("CodeBlob", "_size", struct blob, size),
        FIELD("CodeBlob", "_frame_size", struct blob, frame), FIELD("CodeBlob", "_frame_complete_offset", struct blob, complete),
        FIELD("CodeBlob", "_code_begin", struct blob, code), FIELD("CompiledMethod", "_method", struct blob, method),
        FIELD("CompiledMethod", "_scopes_data_begin", struct blob, scopes),
        FIELD("CompiledMethod", "_deopt_handler_begin", struct blob, deoptimization),
        FIELD("nmethod", "_scopes_pcs_offset", struct blob, places), FIELD("nmethod", "_dependencies_offset", struct blob, places_end),
        FIELD("nmethod", "_metadata_offset", struct blob, metadata), FIELD("nmethod", "_orig_pc_offset", struct blob, original_pc),
        FIELD("Method", "_constMethod", struct method, constant), FIELD("ConstMethod", "_constants", struct constant, pool),
        FIELD("ConstMethod", "_code_size", struct constant, code_size), FIELD("ConstMethod", "_name_index", struct constant, name),
        FIELD("ConstMethod", "_flags", struct constant, flags), FIELD("ConstantPool", "_pool_holder", struct pool, holder),
        FIELD("ConstantPool", "_source_file_name_index", struct pool, file), FIELD("Klass", "_name", struct klass, name),
        FIELD("Symbol", "_length", struct symbol, length), FIELD("Symbol", "_body", struct symbol, body),
        STATIC("AbstractInterpreter", "_code", interpreter_code), FIELD("StubQueue", "_stub_buffer", struct queue, start),
        FIELD("StubQueue", "_buffer_limit", struct queue, length), STATIC("StubRoutines", "_call_stub_return_address", call_return),
        STATIC("Abstract_VM_Version", "_vm_major_version", version),
        /* What some versions have, by the numbers below. */
        STATIC("ThreadsSMRSupport", "_java_thread_list", thread_list), FIELD("ThreadsList", "_length", struct list, length),
        FIELD("ThreadsList", "_threads", struct list, threads), {NULL}, {NULL}, {NULL},
        {NULL},
    };
    struct type types[] = {
        {"Unrelated", NULL, {0}, 1}, {"ConstMethod", NULL, {0}, __builtin_offsetof(struct constant, code)},
        {"ConstantPool", NULL, {0}, __builtin_offsetof(struct pool, entries)}, {"HeapBlock", NULL, {0}, 16}, {NULL},
    };
    struct field *gHotSpotVMStructs = fields;
    struct type *gHotSpotVMTypes = types;
    uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct field), gHotSpotVMTypeEntryArrayStride = sizeof(struct type);

    static struct field *find(const char *name) {
        for (struct field *field = fields; field->type != NULL; field++) if (strcmp(field->name, name) == 0) return field;
        abort();
    }

    static void compile(enum lie lie) {
        struct block *block = (struct block *)(code + 128);
        unsigned char shift = lie == NEWER_PACKING;
        block->blob = (struct blob){
            .name = "nmethod", .size = 1024, .frame = 4, .code = AT(code + 640), .method = &sell_method,
            .scopes = AT(block->scopes), .places = AT(block->places) - AT(&block->blob),
            .places_end = AT(block->places + 3) - AT(&block->blob), .metadata = AT(block->methods) - AT(&block->blob),
            .original_pc = 8, .deoptimization = AT(code + 900),
        };
        block->places[0].code = -1;
        block->places[1].code = 20;
        block->places[1].scope = 8;
        block->places[2].code = 1 << 30;
        block->methods[0] = lie == FALSE_SCOPES ? &add_method : &sell_method;
        block->methods[1] = &add_method;
        /* The scope of its caller, the method, and one more than the place in its bytecode. */
        const unsigned char outer[] = {0, 1, 6}, inner[] = {4, 2, 4};
        for (int i = 0; i < 3; i++) {
            block->scopes[4 + i] = outer[i] + shift;
            block->scopes[8 + i] = inner[i] + shift;
        }
        memset(map, 0xff, sizeof map);
        for (int i = 1; i <= 8; i++) map[i] = lie == BROKEN_MAP ? 1 : i - 1;
        if (lie == BROKEN_MAP) map[0] = 1;
        heap = (struct heap){AT(code), AT(code + sizeof code), AT(map), AT(map + sizeof map), 7};
        if (lie == GIANT_HEAPS) heaps.length = 1u << 31;
    }

    static void *other(void *unused) {
        volatile char local = 0;
        other_thread.stack_base = AT(&local) + 4096;
        other_thread.stack_size = 1 << 20;
        other_thread.number = 6;
        sem_post(&is_there);
        for (;;) pause();
    }

    int main(int count, char **arguments) {
        enum lie lie = atoi(arguments[1]);
        volatile uint64_t frames[64] = {0};
        shop_pool.entries[1] = AT(&sell);
        shop_pool.entries[2] = AT(&shop_file);
        cart_pool.entries[1] = AT(&add);
        cart_pool.entries[2] = AT(&cart_file);
        compile(lie);
        queue = (struct queue){AT(interpreter), sizeof interpreter};
        /* Compiled code, of four words. */
        frames[2] = AT(frames + 20);
        frames[3] = AT(interpreter + 8);
        frames[1] = AT(code + 660);
        /* The interpreter. */
        frames[20] = AT(frames + 40);
        frames[21] = call_return;
        frames[19] = AT(frames + 24);
        frames[17] = lie == UNMAPPED_METHOD ? 0x1000 : AT(&sell_method);
        frames[12] = AT(selling.code + 1);
        /* The stub. */
        frames[40] = 0x4242;
        frames[41] = 0x4711;
        frames[34] = AT(&wrapper);
        main_thread = (struct thread){
            .anchor = {AT(frames), 0, lie == DEOPTIMIZED ? AT(code + 900) : lie == NO_CODE ? 0x4711 : AT(code + 660)},
            .stack_base = AT(frames + 64) + 4096, .stack_size = 1 << 20, .pending = &monitor, .number = 5,
        };
        pthread_t thread;
        sem_init(&is_there, 0, 0);
        if (pthread_create(&thread, NULL, other, NULL) != 0) return 1;
        sem_wait(&is_there);
        monitor = (struct monitor){AT(lie == OWN_OWNER ? &main_thread : &other_thread), &object};
        struct field *more = find("_java_thread_list");
        if (lie == CHAIN || lie == CHAIN_CIRCLE) {
            more[0] = (struct field)STATIC("Threads", "_thread_list", first_thread);
            more[1] = (struct field)FIELD("JavaThread", "_next", struct thread, next);
            more[2] = (struct field){NULL};
            main_thread.next = &other_thread;
            if (lie == CHAIN_CIRCLE) other_thread.next = &main_thread;
        }
        if (lie == NEWER_PACKING) {
            version = 21;
            memcpy(selling.lines, ((unsigned char[]){0 << 3 | 7, 4 << 3 | 2, 0}), 3);
            memcpy(adding.lines, ((unsigned char[]){0xff, 1, 217, 7, 0}), 5);
        }
        if (lie == OWNER_BY_NUMBER) {
            more[3] = (struct field)FIELD("JavaThread", "_monitor_owner_id", struct thread, number);
            monitor.owner = 6;
        }
        if (lie == OWNER_BY_STACK) monitor.owner = other_thread.stack_base - 64;
        if (lie == OWNER_BY_LIST) {
            more[3] = (struct field)FIELD("JavaThread", "_lock_stack", struct thread, locks_top);
            more[4] = (struct field){"LockStack", "_base[0]", "", 0, 8, NULL};
            more[5] = (struct field){"LockStack", "_top", "", 0, 0, NULL};
            other_thread.locks_top = __builtin_offsetof(struct thread, locks) + 16;
            other_thread.locks[1] = object;
            monitor.owner = 1;
        }
        if (lie == NO_FIELD) find("_constMethod")->name = "_renamed";
        if (lie == WILD_OFFSET) find("_constMethod")->offset = UINT64_MAX / 2;
        if (lie == STATIC_CODE) {
            find("_frame_size")->is_static = 1;
            find("_frame_size")->address = (void *)0x7fffffff0000;
        }
        if (lie == WILD_CODE) find("_frame_size")->offset = 508;
        if (lie == WRONG_STRIDE) gHotSpotVMStructEntryArrayStride = 40;
        if (lie == GIANT_LIST) list.length = 1u << 31;
        if (lie == GIANT_NAME) add.length = 65535;
        if (lie == CIRCLE) wrapper.anchor = main_thread.anchor;
        if (lie == UNMAPPED_STACK) main_thread.anchor.sp = 0x1000;
        puts("ready");
        fflush(stdout);
        char byte;
        return (int)read(0, &byte, 1) + (frames[63] != 0);
    }
    """#
