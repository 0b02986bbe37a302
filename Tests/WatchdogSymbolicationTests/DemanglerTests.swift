// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("Readable names", .reapsChildren)
struct DemanglerTests {
    @Test(
        "symbols of Swift, C++, Rust and C have readable names",
        arguments: [
            ("$s5sem307ServiceC3run5depthySi_tFyyXEfU_yyXEfU_", "closure #1 in closure #1 in Service.run(depth:)"),
            ("$s13async_rel_dyn5StoreC4deepyS2iYaFTY0_", "Store.deep(_:)"),
            ("_ZN4shop8checkoutERNS_4ItemE", "shop::checkout(shop::Item&)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCs6xxl1lAjzDf_1a8wait_for", "a::wait_for"),
            ("_RNCNvCs6xxl1lAjzDf_1a4main0B3_", "a::main::{closure#0}"),
            ("_RINvNtCs6xxl1lAjzDf_1a4shopu9zhlen_graKj3_EB4_", "a::shop::zählen"),
            ("_RNvXs_NtCs6xxl1lAjzDf_1a4shopINtB4_4CarthENtB4_3Sum3sum", "<a::shop::Cart<u8> as a::shop::Sum>::sum"),
            ("_RNvMNtCs6xxl1lAjzDf_1a4shopINtB2_4CartReE5totalB4_", "a::shop::Cart<&str>::total"),
            ("_RNvCs6xxl1lAjzDf_1a4main.llvm.1234", "a::main"),
            ("_RNvB_1a", "_RNvB_1a"),
            ("_RNvC9999999999999999999991a4main", "_RNvC9999999999999999999991a4main"),
            ("_Resume", "_Resume"),
            ("main", "main"),
            ("parse.constprop.0", "parse"),
            ("parse.isra.0.cold", "parse"),
            ("main.main", "main.main"),
            (".annobin", ".annobin"),
            ("_Znonsense", "_Znonsense"),
            ("$snonsense", "$snonsense"),
            ("", ""),
        ]
    )
    func names(mangled: String, readable: String) {
        #expect(Demangler.demangle(mangled) == readable)
    }

    @Test("thunks are distinguished from functions")
    func thunks() {
        #expect(Demangler.isThunk("$s2th1SVAA1PA2aDP1gyS2iFTW"))
        #expect(Demangler.isThunk("$s2sd7ServiceC3run5depthS2i_tFS2iXEfU_TA"))
        #expect(!Demangler.isThunk("main"))
        #expect(!Demangler.isThunk("$s5sem307ServiceC3run5depthySi_tF"))
    }

    @Test("asynchronous functions are distinguished from others")
    func asynchronous() {
        #expect(Demangler.isAsynchronous("$s13async_rel_dyn5StoreC4deepyS2iYaFTQ1_"))
        #expect(Demangler.isAsynchronous("$s13async_rel_dyn5StoreC4deepyS2iYaF"))
        #expect(Demangler.isAsynchronous("$s4main6ClientV5fetchyS2iYaKFTY12_"))
        #expect(!Demangler.isAsynchronous("$s5sem307ServiceC3run5depthySi_tF"))
        #expect(!Demangler.isAsynchronous("TY0_"))
    }

    @Test("random names neither trap nor hang")
    func random() {
        var generator = SeededGenerator(seed: 3)
        let alphabet = Array("$sS_ZN0123456789aAbBcCdDeEfFgGiIkKlLmMoOpPqQrRtTuUvVwWxXyYzZ.@_")
        for _ in 0..<3000 {
            let prefix =
                ["$s", "_Z", "_ZN", "_R", "_RNv", "_RINvMs4_C1a", "$s4main", ""].randomElement(using: &generator) ?? ""
            let name = prefix + String((0..<60).compactMap { _ in alphabet.randomElement(using: &generator) })
            _ = Demangler.demangle(name)
            _ = Demangler.isThunk(name)
        }
    }
}
