// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

extension EndToEnd {
    @Suite("The page for Cockpit")
    struct CockpitTests {
        private static let chromium = ["chromium", "chromium-browser", "google-chrome"]

        /// Why the page cannot be tested here; nil if it can.
        private static let obstacle: String? = {
            if access("/usr/lib/cockpit/cockpit-ws", X_OK) != 0 { return "cockpit-ws is not installed" }
            if isRoot && !hasAllRights { return "root of a container makes no network of its own" }
            if !isInstalled("cockpit-bridge") { return "cockpit-bridge is not installed" }
            return chromium.contains { isInstalled($0) } ? nil : "chromium is not installed"
        }()

        @Test(
            "shows apps, hangs, reports and refusals in a browser, and acts on them",
            .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
        func inBrowser() throws {
            let root = "\(#filePath)".split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
            let program = try Program([
                "/usr/bin/python3", "\(root)/scripts/cockpit-test", product("watchdogd"),
            ])
            let code = try program.end().code
            let output = program.text(.output)
            #expect(code == 0, "\(output)\(program.text(.errors))")
            #expect(output.contains("ok      nothing on the browser's console"))
        }
    }
}
