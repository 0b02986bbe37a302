// SPDX-License-Identifier: Apache-2.0

/// An invented report in a phone's format, with its text.
package enum ForeignSample {
    package static let ips = [
        #"{"app_name":"Notes","timestamp":"2026-03-01 10:00:00.00 +0100","app_version":"1.0","build_version":"1","#
            + #""platform":2,"bundleID":"org.example.Notes","share_with_app_devs":1,"bug_type":"309","#
            + #""os_version":"iPhone OS 19.0 (23A1)","incident_id":"01234567-89AB-4CDE-8F01-23456789ABCD"}"#,
        "{",
        #"  "uptime" : 68, "procRole" : "Foreground", "version" : 2, "userID" : 501, "modelCode" : "iPhone1,1","#,
        #"  "osVersion" : {"isEmbedded":true,"train":"iPhone OS 19.0","releaseType":"User","build":"23A1"},"#,
        #"  "captureTime" : "2026-03-01 10:00:00.1234 +0100", "procLaunch" : "2026-03-01 09:59:00.5678 +0100","#,
        #"  "incident" : "01234567-89AB-4CDE-8F01-23456789ABCD", "pid" : 455, "cpuType" : "ARM-64","#,
        #"  "procName" : "Notes", "procPath" : "\/private\/var\/Notes.app\/Notes", "coalitionID" : 625,"#,
        #"  "bundleInfo" : {"CFBundleShortVersionString":"1.0","CFBundleVersion":"1","#
            + #""CFBundleIdentifier":"org.example.Notes"},"#,
        #"  "parentProc" : "launchd", "parentPid" : 1, "coalitionName" : "org.example.Notes","#,
        #"  "crashReporterKey" : "0123456789012345678901234567890123456789", "basebandVersion" : "2.09.01","#,
        #"  "exception" : {"codes":"0x0000000000000001, 0x0000000100001000","rawCodes":[1,4294971392],"#
            + #""type":"EXC_BREAKPOINT","signal":"SIGTRAP"}, "isCorpse" : 1,"#,
        #"  "termination" : {"flags":0,"code":5,"namespace":"SIGNAL","indicator":"Trace\/BPT trap: 5","#
            + #""byProc":"exc handler","byPid":455},"#,
        #"  "asi" : {"libsystem_c.dylib":["abort() called"]}, "ktriageinfo" : "VM - one\nVM - two\n","#,
        #"  "faultingThread" : 0, "futureKey" : {"a":[1.5,null]},"#,
        #"  "threads" : [{"triggered":true,"id":5798,"queue":"com.apple.main-thread","threadState":{"x":["#
            + (0..<29).map { #"{"value":\#($0)}"# }.joined(separator: ",")
            + #"],"flavor":"ARM_THREAD_STATE64","lr":{"value":4294971392},"cpsr":{"value":1610616832},"#
            + #""fp":{"value":1},"sp":{"value":2},"esr":{"value":4060086273,"description":"(Breakpoint) brk 1"},"#
            + #""pc":{"value":4294971392,"matchesCrashFrame":1},"far":{"value":18446744073709551615}},"#
            + #""frames":[{"imageOffset":4096,"symbol":"Notes.crash()","symbolLocation":12,"imageIndex":0},"#
            + #"{"imageOffset":8192,"imageIndex":0},{"imageOffset":7,"imageIndex":1},{"imageOffset":8,"imageIndex":99}]},"#
            + #"{"id":5799,"name":"loader","queue":"org.example.queue"},{"id":5800,"name":"idle","frames":[]}],"#,
        #"  "usedImages" : [{"source":"P","arch":"arm64","base":4294967296,"size":32768,"#
            + #""uuid":"82d13d98-219e-3040-b62a-07a297007a7c","path":"\/private\/var\/Notes.app\/Notes","name":"Notes"},"#
            + #"{"size":0,"source":"A","base":0,"uuid":"00000000-0000-0000-0000-000000000000"}],"#,
        #"  "legacyInfo" : {"threadTriggered":{"queue":"com.apple.main-thread"}}"#,
        "}",
        "",
    ].joined(separator: "\n")

    package static let text = """
        Incident Identifier: 01234567-89AB-4CDE-8F01-23456789ABCD
        CrashReporter Key:   0123456789012345678901234567890123456789
        Hardware Model:      iPhone1,1
        Process:             Notes [455]
        Path:                /private/var/Notes.app/Notes
        Identifier:          org.example.Notes
        Version:             1.0 (1)
        Code Type:           ARM-64 (Native)
        Role:                Foreground
        Parent Process:      launchd [1]
        Coalition:           org.example.Notes [625]

        Date/Time:           2026-03-01 10:00:00.1234 +0100
        Launch Time:         2026-03-01 09:59:00.5678 +0100
        OS Version:          iPhone OS 19.0 (23A1)
        Release Type:        User
        Baseband Version:    2.09.01
        Report Version:      104

        Exception Type:  EXC_BREAKPOINT (SIGTRAP)
        Exception Codes: 0x0000000000000001, 0x0000000100001000
        Exception Note:  EXC_CORPSE_NOTIFY
        Termination Reason: SIGNAL 5 Trace/BPT trap: 5
        Terminating Process: exc handler [455]

        Triggered by Thread:  0

        Application Specific Information:
        abort() called

        Kernel Triage:
        VM - one
        VM - two


        Thread 0 name:   Dispatch queue: com.apple.main-thread
        Thread 0 Crashed:
        0   Notes                         \t       0x100001000 Notes.crash() + 12
        1   Notes                         \t       0x100002000 0x100000000 + 8192
        2   ???                           \t               0x7 0x0 + 7
        3   ???                           \t               0x8 0x0 + 8

        Thread 1 name:  loader  Dispatch queue: org.example.queue
        Thread 1:

        Thread 2 name:  idle
        Thread 2:


        Thread 0 crashed with ARM Thread State (64-bit):
            x0: 0x0000000000000000   x1: 0x0000000000000001   x2: 0x0000000000000002   x3: 0x0000000000000003
            x4: 0x0000000000000004   x5: 0x0000000000000005   x6: 0x0000000000000006   x7: 0x0000000000000007
            x8: 0x0000000000000008   x9: 0x0000000000000009  x10: 0x000000000000000a  x11: 0x000000000000000b
           x12: 0x000000000000000c  x13: 0x000000000000000d  x14: 0x000000000000000e  x15: 0x000000000000000f
           x16: 0x0000000000000010  x17: 0x0000000000000011  x18: 0x0000000000000012  x19: 0x0000000000000013
           x20: 0x0000000000000014  x21: 0x0000000000000015  x22: 0x0000000000000016  x23: 0x0000000000000017
           x24: 0x0000000000000018  x25: 0x0000000000000019  x26: 0x000000000000001a  x27: 0x000000000000001b
           x28: 0x000000000000001c   fp: 0x0000000000000001   lr: 0x0000000100001000
            sp: 0x0000000000000002   pc: 0x0000000100001000 cpsr: 0x60001000
           far: 0xffffffffffffffff  esr: 0xf2000001 (Breakpoint) brk 1

        Binary Images:
               0x100000000 -        0x100007fff Notes arm64  <82d13d98219e3040b62a07a297007a7c> /private/var/Notes.app/Notes
                       0x0 - 0xffffffffffffffff ??? unknown-arch  <00000000000000000000000000000000> ???

        EOF

        """
}
