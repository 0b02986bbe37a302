// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import ReportFixtures
import TestSupport
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

/// The pages as a browser renders them.
///
/// `WATCHDOGD_SCREENSHOTS=/some/folder swift test --filter PageTests` leaves pictures of all of them there.
@Suite("Pages in a browser", .enabled(if: Browser.program != nil, "no chromium is installed"), .reapsChildren)
struct PageTests {
    private struct Medium {
        let name: String
        let width: Int64
        var isDark = false
        var isPaper = false

        static let all = [
            Medium(name: "phone", width: 390), Medium(name: "phone-dark", width: 390, isDark: true),
            Medium(name: "desktop", width: 1_280), Medium(name: "desktop-dark", width: 1_280, isDark: true),
            Medium(name: "small", width: 320), Medium(name: "tablet", width: 768),
            // A4 without its margins, at 96 points an inch.
            Medium(name: "paper", width: 718, isPaper: true),
        ]
    }

    /// Lists the faults of a page as currently shown, one line each.
    static let inspection = #"""
        (function () {
          const faults = [], width = document.documentElement.clientWidth;
          const name = e => `${e.tagName.toLowerCase()}.${e.getAttribute('class') || ''} "${(e.textContent || '').trim().slice(0, 40)}"`;
          const isShown = e => e.checkVisibility({contentVisibilityAuto: true}) && e.getClientRects().length > 0;
          if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} wide`);
          for (const e of document.querySelectorAll('main *, footer *')) {
            if (!isShown(e) || e.closest('.scroll') || e.closest('.skip')) continue;
            const box = e.getBoundingClientRect();
            if (box.width > 0 && (box.right > width + 1 || box.left < -1)) faults.push(`${name(e)} leaves the page: ${box.left} to ${box.right}`);
          }
          for (const svg of document.querySelectorAll('svg[role=img]')) {
            if (!svg.getAttribute('aria-label')) faults.push('a drawing has no words');
            const frame = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
            texts.forEach(([text, box], i) => {
              if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
                faults.push(`${name(text)} is cut by its drawing`);
              texts.slice(i + 1).forEach(([other, b]) => {
                if (box.left < b.right - 1 && b.left < box.right - 1 && box.top < b.bottom - 3 && b.top < box.bottom - 3)
                  faults.push(`${name(text)} covers ${name(other)}`);
              });
            });
          }
          const channels = c => (c.match(/[\d.]+/g) || []).map(Number);
          const light = c => {
            const [r, g, b] = channels(c).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = e => {
            for (; e; e = e.parentElement) {
              const c = channels(getComputedStyle(e).backgroundColor);
              if (c.length === 3 || c[3] > 0.99) return getComputedStyle(e).backgroundColor;
            }
            return 'rgb(255,255,255)';
          };
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          const poor = new Set();
          for (let node; (node = walker.nextNode());) {
            const e = node.parentElement;
            if (!node.data.trim() || ['SCRIPT', 'STYLE'].includes(e.tagName) || !isShown(e) || e.closest('.skip')) continue;
            const style = getComputedStyle(e), isDrawn = e.tagName === 'text';
            let below = ground(e);
            if (isDrawn) {
              const box = e.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
              for (const shape of e.ownerSVGElement.querySelectorAll('rect, circle')) {
                const b = shape.getBoundingClientRect();
                if (b.left <= x && x <= b.right && b.top <= y && y <= b.bottom) below = getComputedStyle(shape).fill;
              }
            }
            const a = light(isDrawn ? style.fill : style.color), b = light(below);
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (contrast < 4.5) poor.add(`${name(e)} has a contrast of ${contrast.toFixed(2)}`);
          }
          faults.push(...poor);
          const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
          if (new Set(ids).size !== ids.length) faults.push('two elements have one id');
          for (const link of document.querySelectorAll('a[href^="#"]'))
            if (!document.getElementById(link.getAttribute('href').slice(1))) faults.push(`${name(link)} leads nowhere`);
          if (document.querySelectorAll('h1').length !== 1) faults.push('not one headline');
          if (matchMedia('print').matches)
            for (const e of document.querySelectorAll('details'))
              if (!isShown(e.lastElementChild)) faults.push(`${name(e)} is folded on paper`);
          return faults.join('\n');
        })()
        """#

    private static func withBrowser(_ body: (Browser, String) throws -> Void) throws {
        let program = try #require(Browser.program)
        try TestFiles.withFolder { folder in
            let browser = try Browser(program, folder: folder)
            try body(browser, folder)
            _ = try? browser.send("Browser.close")
        }
    }

    private static func write(_ picture: [UInt8], _ name: String) throws {
        guard let folder = getenv("WATCHDOGD_SCREENSHOTS").map({ String(cString: $0) }) else { return }
        try TestFiles.write(picture, to: "\(folder)/\(name).png")
    }

    private static var isTakingPictures: Bool { getenv("WATCHDOGD_SCREENSHOTS") != nil }

    @Test(
        "On a phone, a tablet, a desktop and paper, in light and dark, nothing is clipped, covered, faint or fetched"
    )
    func pages() throws {
        try Self.withBrowser { browser, folder in
            for (name, report) in Causes.all + Samples.goldens + [("foreign", try foreign())] {
                let path = "\(folder)/\(name).html"
                try TestFiles.write(Array(HTMLRenderer.render(report).utf8), to: path)
                for medium in Medium.all {
                    try browser.show(
                        width: medium.width, isDark: medium.isDark, medium: medium.isPaper ? "print" : "screen")
                    try browser.open(path)
                    let faults = try browser.evaluate(Self.inspection)
                    #expect(faults == "", "\(name), \(medium.name)")
                    let text = try browser.evaluate("document.body.innerText").filter { !$0.isWhitespace }
                    let verdict = report.body.linux?.verdict.line.split(separator: " · ").first ?? "Ended by"
                    #expect(text.contains(verdict.filter { !$0.isWhitespace }), "\(name), \(medium.name)")
                    #expect(text.contains(report.metadata.appName.filter { !$0.isWhitespace }))
                    let ground = try browser.evaluate("getComputedStyle(document.body).backgroundColor")
                    #expect((ground == "rgb(255, 255, 255)") == !medium.isDark)
                    if Self.isTakingPictures { try Self.write(try browser.screenshot(), "\(name)-\(medium.name)") }
                }
                #expect(Self.said(browser.events) == [], "\(name)")
                #expect(Self.asked(browser.events, except: path) == [], "\(name)")
            }
        }
    }

    @Test("The organizer's page is complete on every medium")
    func organizer() throws {
        let tests = TestFiles.folder(of: TestFiles.folder(of: #filePath))
        let path = "\(tests)/WatchdogFleetTests/Goldens/organizer.html"
        try Self.withBrowser { browser, _ in
            for medium in Medium.all {
                try browser.show(
                    width: medium.width, isDark: medium.isDark, medium: medium.isPaper ? "print" : "screen")
                try browser.open(path)
                #expect(try browser.evaluate(Self.inspection) == "", "\(medium.name)")
                #expect(try browser.evaluate("document.body.innerText").contains("photo-server"))
                if Self.isTakingPictures { try Self.write(try browser.screenshot(), "organizer-\(medium.name)") }
            }
            #expect(Self.said(browser.events) == [])
            #expect(Self.asked(browser.events, except: path) == [])
        }
    }

    @Test("With only the keyboard, the skip link, links to threads and all folded parts are reached in order")
    func keyboard() throws {
        try Self.withBrowser { browser, folder in
            let report = try #require(Causes.all.first { $0.name == "deadlock" }?.report)
            let path = "\(folder)/deadlock.html"
            try TestFiles.write(Array(HTMLRenderer.render(report).utf8), to: path)
            try browser.show(width: 1_280, isDark: false)
            try browser.open(path)
            var stops: [String] = []
            for _ in 0..<40 {
                for kind in ["keyDown", "keyUp"] {
                    try browser.send(
                        "Input.dispatchKeyEvent",
                        [
                            "type": .text(kind), "key": .text("Tab"), "code": .text("Tab"),
                            "windowsVirtualKeyCode": .integer(9),
                        ])
                }
                let stop = try browser.evaluate(
                    "document.activeElement === document.body ? '' : document.activeElement.textContent.trim().slice(0, 30)"
                )
                if stop.isEmpty { break }
                stops.append(stop)
            }
            #expect(stops.first == "To the stack")
            let contents = try browser.evaluate(
                "[...document.querySelectorAll('nav a')].map(a => a.textContent).join('\\n')"
            )
            .split(separator: "\n").map(String.init)
            #expect(contents.count > 3)
            #expect(Array(stops.dropFirst().prefix(contents.count)) == contents)
            #expect(stops.dropFirst(contents.count + 1).first == "Thread 1")
            #expect(stops.contains("Copy stack"))
            let folded = try browser.evaluate("String(document.querySelectorAll('summary').length)")
            let titles = try browser.evaluate(
                "[...document.querySelectorAll('summary')].map(s => s.textContent.trim().slice(0, 30)).join('\\n')")
            let summaries = titles.split(separator: "\n").map(String.init)
            #expect(summaries.count == Int(folded))
            #expect(stops.filter(summaries.contains) == summaries)
            #expect(
                try browser.evaluate("String([...document.querySelectorAll('details')].filter(d => d.open).length)")
                    == "1")
            for (key, open) in [("e", summaries.count), ("c", 0)] {
                try browser.send("Input.dispatchKeyEvent", ["type": .text("keyDown"), "key": .text(key)])
                #expect(
                    try browser.evaluate("String([...document.querySelectorAll('details')].filter(d => d.open).length)")
                        == String(open))
            }
        }
    }

    @Test("A page prints")
    func paper() throws {
        try Self.withBrowser { browser, folder in
            let report = try #require(Causes.all.first { $0.name == "deadlock" }?.report)
            let path = "\(folder)/deadlock.html"
            try TestFiles.write(Array(HTMLRenderer.render(report).utf8), to: path)
            try browser.open(path)
            let answer = try browser.send("Page.printToPDF", ["preferCSSPageSize": .bool(true)])
            let document = Data(base64Encoded: answer["data"]?.string ?? "") ?? Data()
            #expect(document.starts(with: Array("%PDF".utf8)))
            if let folder = getenv("WATCHDOGD_SCREENSHOTS").map({ String(cString: $0) }) {
                try TestFiles.write(Array(document), to: "\(folder)/deadlock.pdf")
            }
        }
    }

    private func foreign() throws -> Report { try ReportCoding.decode(Array(ForeignSample.ips.utf8)) }

    /// The console output of a page, or of the browser about it.
    static func said(_ events: [JSONTree]) -> [String] {
        events.compactMap { event in
            switch event["method"]?.string {
            case "Log.entryAdded": event["params"]?["entry"]?["text"]?.string
            case "Runtime.consoleAPICalled", "Runtime.exceptionThrown": "\(event["params"] ?? .null)"
            default: nil
            }
        }
    }

    /// A page's requests besides itself; `data:` is part of it.
    static func asked(_ events: [JSONTree], except path: String) -> [String] {
        events.compactMap { event in
            guard event["method"]?.string == "Network.requestWillBeSent",
                let address = event["params"]?["request"]?["url"]?.string, address != "file://\(path)",
                !address.hasPrefix("data:")
            else { return nil }
            return address
        }
    }
}
