// SPDX-License-Identifier: Apache-2.0

/// Recognizes garbage collection of a runtime.
enum GarbageCollection {
    static let rule = FindingRule(
        kind: .garbageCollection, text: "The runtime collects garbage",
        functions: functions + interpreters.flatMap(\.functions), condition: { isOn($0) })

    /// Functions within which a runtime does nothing else, by image, because other programs may use the same names.
    private static let interpreters: [(images: [String], functions: [String])] = [
        (
            ["python", "libpython"],
            [
                "gc_collect_main", "gc_collect_generations", "gc_collect_with_callback", "gc_collect_region",
                "gc_collect_full", "gc_collect_young", "gc_collect_increment", "_PyGC_Collect", "_PyGC_CollectNoFail",
                "PyGC_Collect", "gc_collect",
            ]
        ),
        (
            ["ruby", "libruby"],
            [
                "garbage_collect", "gc_start", "gc_start_internal", "gc_marks", "gc_marks_rest", "gc_sweep",
                "gc_sweep_rest", "gc_mark_stacked_objects_all", "rb_gc_start",
            ]
        ),
    ]

    /// Such functions with unique names, in any image.
    private static let functions = [
        // V8.
        "v8::internal::Heap::CollectGarbage", "v8::internal::Heap::PerformGarbageCollection",
        "v8::internal::Heap::CollectAllGarbage", "v8::internal::Heap::CollectAllAvailableGarbage",
        "v8::internal::MarkCompactCollector::CollectGarbage", "v8::internal::ScavengerCollector::CollectGarbage",
        // Go: its workers, and a goroutine that has to help before it may allocate.
        "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcDrain", "runtime.GC",
        // .NET, the Boehm collector, OCaml, GHC, PHP.
        "WKS::gc_heap::garbage_collect", "SVR::gc_heap::garbage_collect", "GC_try_to_collect_inner", "GC_gcollect",
        "caml_major_collection_slice", "caml_finish_major_cycle", "caml_gc_full_major",
        "zend_gc_collect_cycles",
    ]

    /// The names of dedicated threads of the Java virtual machine, cut to the kernel's 15 bytes.
    private static let threads = [
        "GC Thread#", "G1 Main Marker", "G1 Conc#", "G1 Refine#", "ParGC Thread#", "Parallel GC", "ZWorker",
        "ZWorkerYoung",
        "ZWorkerOld", "ZDirector", "ZDriver", "Shenandoah GC", "Concurrent Mark", "CMS Main Thread", "Gang worker#",
        ".NET Server GC", ".NET BGC",
    ]

    /// Whether a thread collects garbage, by its name or its stack.
    static func isDone(by thread: CapturedThread, _ stack: NamedStack) -> Bool {
        threads.contains(where: thread.name.hasPrefix) || isOn(stack)
    }

    private static func isOn(_ stack: NamedStack) -> Bool {
        zip(stack.names, stack.images).contains { name, image in
            functions.contains { NamedStack.isFunction(name, $0) }
                || interpreters.contains { runtime in
                    runtime.images.contains(where: image.hasPrefix)
                        && runtime.functions.contains { NamedStack.isFunction(name, $0) }
                }
        }
    }
}
