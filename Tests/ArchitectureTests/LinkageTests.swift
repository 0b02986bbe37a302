// SPDX-License-Identifier: Apache-2.0

import Testing

/// The libraries that a product's dynamic section may name.
struct LinkageRule: Sendable, CustomTestStringConvertible {
    let product: String
    let libraries: Set<String>

    var testDescription: String { product }

    private static let swiftRuntime: Set<String> = [
        "libswiftCore.so", "libswift_Concurrency.so", "libswift_StringProcessing.so", "libswift_RegexParser.so",
        "libswift_Builtin_float.so", "libswiftSwiftOnoneSupport.so", "libswiftSynchronization.so", "libswiftGlibc.so",
    ]
    private static let dispatch: Set<String> = ["libswiftDispatch.so", "libdispatch.so", "libBlocksRuntime.so"]
    private static let system: Set<String> = [
        "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
    ]
    private static let app = swiftRuntime.union(dispatch).union(system)
    /// Apps that store and draw.
    private static let story = app.union(["libFoundationEssentials.so", "libsqlite3.so.0", "libz.so.1"])
    private static let foundation: Set<String> = ["libFoundation.so", "libFoundationInternationalization.so"]
    private static let daemon = app.union(["libFoundationEssentials.so"])

    static let all: [LinkageRule] = [
        LinkageRule(product: "watchdogd", libraries: daemon),
        LinkageRule(product: "watchdogd-symbolicate", libraries: daemon),
        LinkageRule(product: "HealthyApp", libraries: app),
        LinkageRule(product: "SlowLaunch", libraries: app),
        LinkageRule(product: "HangMain", libraries: app),
        LinkageRule(product: "IgnoresTerm", libraries: app),
        LinkageRule(product: "ForkingApp", libraries: app),
        LinkageRule(product: "SlowExit", libraries: app),
        LinkageRule(product: "BackgroundSaver", libraries: app.union(["libsqlite3.so.0"])),
        LinkageRule(product: "PhotoServer", libraries: story),
        LinkageRule(product: "StarSearcher", libraries: story),
        LinkageRule(product: "Glassboard", libraries: story),
        LinkageRule(product: "QuickPick", libraries: story.union(foundation)),
        LinkageRule(product: "Stocks", libraries: story.union(foundation)),
    ]

    static let productsAreThere = all.allSatisfy { BuiltProduct($0.product).exists }
}

@Suite("Linkage")
struct LinkageTests {
    @Test(
        "A product names no library beyond its rule: an app uses no Foundation, and nothing uses libdw or libsystemd",
        .enabled(
            if: LinkageRule.productsAreThere || BuiltProduct.mustExist,
            "not all products are next to the tests: run 'swift build' first"
        ),
        arguments: LinkageRule.all
    )
    func linksOnlyWhatItMay(rule: LinkageRule) throws {
        let needed = try BuiltProduct(rule.product).neededLibraries()
        #expect(needed.contains("libc.so.6"))
        #expect(needed.filter { !rule.libraries.contains($0) } == [])
    }

    @Test("Every sample app has a rule")
    func everySampleAppHasARule() {
        let libraries: Set = ["SampleSupport"]
        let apps = SourceTree.files(below: "Sources/SampleApps").filter(\.isSwift)
            .map { String($0.path.split(separator: "/")[2]) }
        #expect(Set(apps).subtracting(libraries).subtracting(LinkageRule.all.map(\.product)) == [])
    }
}

@Suite("Spawn")
struct SpawnTests {
    private static let childSide = SourceTree.files(of: "CLinux")
        .filter { $0.path.hasSuffix("_child.c") }
        .compactMap(\.place).map { BuiltProduct("CLinux.build/\($0.dropFirst("CLinux/".count)).o") }

    /// Between clone and execve the child shares the parent's memory: a libc function could wait there for a lock that
    /// another thread of the parent holds.
    @Test("Code between clone and execve calls nothing outside its own file")
    func childSideIsSelfContained() throws {
        #expect(!Self.childSide.isEmpty)
        for object in Self.childSide {
            // The assembler generates it for position-independent code.
            #expect(try object.undefinedSymbols().filter { $0 != "_GLOBAL_OFFSET_TABLE_" } == [], "\(object.path)")
        }
    }
}
