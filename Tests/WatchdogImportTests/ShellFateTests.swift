// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import WatchdogImport

/// Typical scripts in service folders.
///
/// `prog` is the program, which keeps running.
private let scripts: [(text: String, fate: ShellFate)] = {
    let becomes = ShellFate.becomesProgram
    return [
        // Redirections.
        ("exec 2>&1\nprog -f", .stays(.onlyRedirects)), ("exec 2>&1\nexec prog", becomes),
        ("exec 2>&1 prog", becomes), ("exec >log 2>&1\nprog", .stays(.onlyRedirects)), ("exec >log 2>&1 prog", becomes),
        ("exec >>log; exec 2>&1; prog", .stays(.onlyRedirects)), (">log exec prog", becomes),
        ("exec 2>&1 env A=1 prog", becomes), ("exec 3<run\nprog", .stays(.onlyRedirects)),
        ("exec <run >log 2>&1 # prog\nprog", .stays(.onlyRedirects)), ("exec 3>&-\nexec prog 2>&1", becomes),
        // Words.
        ("  exec prog", becomes), ("\texec\tprog", becomes), ("exec \\\n  prog \\\n  -f", becomes),
        ("exec 2>&1 \\\n# no\nprog", .stays(.onlyRedirects)), ("\"exec\" prog", becomes), ("\\exec prog", becomes),
        ("ex\\\nec prog", becomes), ("'exec prog'; prog", .stays(.notByTheShell)),
        ("echo exec prog; prog", .stays(.notByTheShell)),
        ("# exec prog\nprog", .stays(.notByTheShell)), ("prog # exec prog", .stays(.notByTheShell)),
        ("A=1 exec prog", becomes), ("command exec prog", becomes),
        ("P=prog; exec $P -f", becomes), ("P=prog\nexec \"$P\"", becomes),
        ("exec \"$@\"\nprog", .stays(.notByTheShell)), ("set -- prog -f\nexec \"$@\"", becomes),
        ("exec_prog() { prog; }; exec_prog", .stays(.noExec)), ("P=$(echo prog) # \"\nexec $P", becomes),
        ("P=`echo prog`; exec $P", becomes), ("P=$(case a in a) echo prog;; esac); exec $P", becomes),
        ("P=${P:-\"prog\"}; exec $P", becomes), ("N=$((1 << 2)); exec prog $N", becomes),
        ("P=\"$(echo \"prog\")\"; exec $P", becomes),
        // A command in a variable.
        ("X=exec; $X prog", becomes), ("X=exec\n\"$X\" prog", becomes), ("X='exec env A=1'; ${X} prog", becomes),
        ("X='exec env'; \"$X\" prog; prog", .stays(.notByTheShell)), ("X=; $X exec prog", becomes),
        ("X=echo; $X exec prog; prog", .stays(.notByTheShell)), ("export X=exec; $X prog", becomes),
        ("if false; then X=exec; fi; $X prog", .becomesProgramAtTimes),
        ("if true; then X=exec; else X='exec env'; fi; $X prog", becomes),
        ("true && X=exec; $X prog", .becomesProgramAtTimes), ("f() { X=exec; }; f; $X prog", becomes),
        ("f() { $X prog; }; X=exec; f", becomes), ("f() { $X prog; }; X=env; f; X=exec", .stays(.notByTheShell)),
        ("f() { $X prog; }; X=echo; f; X=exec; f", becomes), ("X=exec; X=$(echo env); $X prog", .stays(.notByTheShell)),
        ("(X=exec); $X prog", .stays(.notByTheShell)), ("X=exec true; $X prog", .stays(.notByTheShell)),
        ("X=exec; unset X; $X prog", .stays(.notByTheShell)), ("X=command; $X exec prog", becomes),
        ("X=exec; for X in env; do $X prog; done", .stays(.notByTheShell)),
        ("X=exec; X=env; $X prog", .stays(.notByTheShell)), ("X=exec; $X 2>&1; prog", .stays(.onlyRedirects)),
        ("Y=${Y:-exec}; $Y prog", .unclear), ("${Y:-exec} prog", .unclear), ("X=prog; $X", .stays(.noExec)),
        ("$NOTHING exec prog", .becomesProgramAtTimes), ("X=exec; Y=$X; $Y prog", becomes),
        // Lists.
        ("cd / && exec prog", becomes), ("true && exec prog", becomes), ("false || exec prog", becomes),
        ("[ -x run ] || exit 1\nexec prog", becomes), ("exec prog || exit 1", becomes), ("exec prog; exit 1", becomes),
        ("test -f x && . ./x; exec prog", becomes), ("[ -f ./x ] && . ./x\nexec prog", becomes),
        ("ulimit -n 64; umask 022; export A=1; exec prog", becomes), ("! true; exec prog", becomes),
        ("false && exec prog\nprog", .becomesProgramAtTimes), ("exec prog | cat >log", .stays(.notByTheShell)),
        ("exec prog & wait", .stays(.notByTheShell)), ("(exec prog); true", .stays(.notByTheShell)),
        ("X=$(exec echo 1); prog", .stays(.notByTheShell)), ("trap '' USR1\nexec prog", becomes),
        ("prog | exec cat; true", .stays(.notByTheShell)),
        // Compound commands.
        ("if true; then exec prog; fi", becomes), ("if false; then :; else exec prog; fi", becomes),
        ("if false; then exec cat\nelif true; then exec prog\nfi", becomes), ("{ exec prog; }", becomes),
        ("{ exec prog; } 2>&1", becomes), ("if false; then exec prog; else prog; fi", .becomesProgramAtTimes),
        ("case x in y) exec cat;; x|z) exec prog;; esac", becomes), ("case x in (x) exec prog ;; esac", becomes),
        ("case x in\n  *) exec prog\nesac", becomes), ("while :; do exec prog; done", becomes),
        ("while :; do prog; done", .stays(.noExec)), ("until exec prog; do :; done", becomes),
        ("for i in 1 2; do echo $i; done; exec prog", becomes), ("for i do :; done\nexec prog", becomes),
        ("if true; then\n  if true; then exec prog; fi\nfi", becomes),
        ("if true; then prog; fi; exit 0", .stays(.noExec)), ("for f in exec; do prog; done", .stays(.notByTheShell)),
        // Functions.
        ("f() { exec prog; }\nf", becomes), ("f()\n{\n  exec prog \"$@\"\n}\nf a", becomes),
        ("f() { exec prog; }\nprog", .stays(.notByTheShell)), ("f() { g; }; g() { exec prog; }; f", becomes),
        ("f() { return; exec prog; }; f; prog", .stays(.notByTheShell)),
        ("f() { [ -n \"$1\" ] || return; exec prog; }; f a", becomes),
        ("f() ( exec prog ); f; :", .stays(.notByTheShell)),
        ("X=true; for i in 1 2; do $X prog; X=exec; done", becomes),
        // Here-documents.
        ("cat >log <<EOF\nexec prog\nEOF\nprog", .stays(.notByTheShell)),
        ("cat >log <<'E F'\nexec \" prog\nE F\nexec prog", becomes),
        ("cat >log <<-EOF\n\tfi\n\tEOF\nexec prog", becomes),
        ("cat >log <<A <<B\n(\nA\n)\nB\nexec prog", becomes),
    ]
}()

@Suite("The fate of a shell", .reapsChildren)
struct ShellFateTests {
    @Test("A script is parsed like a shell parses it")
    func table() {
        for (text, fate) in scripts {
            #expect(ShellFate.of(Array("#!/bin/sh\n\(text)\n".utf8), isBash: false) == fate, "\(text)")
        }
    }

    @Test("bash-only syntax is parsed in bash's scripts")
    func bash() {
        for (text, fate) in [
            ("exec > >(logger -t web) 2>&1\nexec web", .becomesProgram), ("exec &>log\nweb", .stays(.onlyRedirects)),
            ("exec -a name web", .becomesProgram), ("exec -- web", .becomesProgram),
            ("[[ -f x && ! a < b ]] || exit 1\nexec web", .becomesProgram),
            ("A=(1 2 \"3\")\nexec web \"${A[@]}\"", .becomesProgram), ("function f { exec web; }\nf", .becomesProgram),
            ("exec {fd}>log\nweb", .stays(.onlyRedirects)), ("cat <<< \"exec\"\nexec web", .becomesProgram),
        ] as [(String, ShellFate)] {
            #expect(ShellFate.of(Array("#!/bin/bash\n\(text)\n".utf8), isBash: true) == fate, "\(text)")
        }
    }

    @Test("Parsing ends for any script")
    func damaged() {
        var random = SeededGenerator(seed: testSeed)
        let pieces = [
            "(", ")", "{ ", "}", "$(", "`", "\"", "'", "<<E\n", "if ", "fi", "do ", "case x in ", ";;", "&&", "\\",
            "\n", "f()",
        ]
        var unclear = 0
        for _ in 0..<400 {
            var bytes = Array(random.pick(scripts).text.utf8)
            for _ in 0...random.below(4) {
                let start = random.below(bytes.count + 1)
                bytes.replaceSubrange(start..<min(bytes.count, start + random.below(4)), with: random.pick(pieces).utf8)
            }
            if ShellFate.of(bytes, isBash: random.oneIn(2)) == .unclear { unclear += 1 }
        }
        #expect(unclear > 0)
        for deep in ["(", "{ ", "$(", "if ", "\"$(", "${a-", "! ", "f() "] {
            _ = ShellFate.of(Array(String(repeating: deep, count: 8_000).utf8), isBash: true)
        }
        let calls = (0..<2_000).map { "f\($0)() { f\($0 + 1); f\($0 + 1); }\n" }.joined()
        #expect(ShellFate.of(Array((calls + "f0\n").utf8), isBash: false) == .unclear)
        let texts = Array(repeating: "command", count: 6).enumerated().map { String(repeating: " ", count: $0) + $1 }
        let choices = "case $1 in " + texts.map { "?) X='\($0)';; " }.joined() + "*) X=command;; esac\n"
        let words = String(repeating: "$X ", count: 1_000)
        #expect(ShellFate.of(Array((choices + words + "a\n").utf8), isBash: false) == .unclear)
        // Each call's effect depends on a variable.
        let steps = (0..<60).map { "f\($0)() { X\($0)=0; f\($0 + 1); X\($0)=1; f\($0 + 1); }\n" }.joined()
        #expect(ShellFate.of(Array((steps + "f0\n").utf8), isBash: false) == .unclear)
    }

    @Test("A real shell agrees")
    func sh() throws {
        try compare(
            scripts,
            starting: "(cd $i && exec ./run) >/dev/null 2>&1 & echo $! >$i/shell",
            ending: "kill $(cat $i/shell) $(cat $i/program)")
    }

    @Test(
        "runsv agrees", .enabled(if: access("/usr/bin/runsv", X_OK) == 0, "runit is not installed"))
    func runsv() throws {
        let own: [(String, ShellFate)] = [
            ("exec 2>&1\nexec chpst -n 1 -o 64 prog", .becomesProgram), ("chpst -n 1 prog", .stays(.noExec)),
            ("mkdir -p env; echo 1 >env/A; exec chpst -e ./env prog", .becomesProgram),
        ]
        try compare(
            scripts + own, starting: "runsv $i >/dev/null 2>&1 & echo $! >$i/supervisor",
            // It records the process after it has started it.
            ending: "until [ -s $i/supervise/pid ]; do sleep 0.01; done; cp $i/supervise/pid $i/shell; "
                + "kill $(cat $i/supervisor) $(cat $i/program)")
    }

    /// Runs each script as a supervisor does, and compares its process with that of its program.
    private func compare(
        _ scripts: [(text: String, fate: ShellFate)], starting start: String, ending end: String
    ) throws {
        let files = FileManager.default
        let folder = try temporaryFolder()
        try files.createDirectory(atPath: "\(folder)/bin", withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }
        func write(_ text: String, to path: String) throws {
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            try #require(chmod(path, 0o755) == 0)
        }
        // It blocks the shell that starts it, and exits with the test.
        try write(
            "#!/bin/sh\necho $$ >$CASE/new\nmv $CASE/new $CASE/program\nwhile [ -d $CASE ]; do sleep 0.2; done\n",
            to: "\(folder)/bin/prog")
        for (number, script) in scripts.enumerated() {
            try files.createDirectory(atPath: "\(folder)/\(number)", withIntermediateDirectories: true)
            try write("#!/bin/sh\n\(script.text)\n", to: "\(folder)/\(number)/run")
        }
        try write(
            """
            cd "$1"
            PATH=$PWD/bin:$PATH
            for i in [0-9]*; do
                export CASE=$PWD/$i
                \(start)
            done
            for i in [0-9]*; do
                until [ -s $i/program ]; do sleep 0.01; done
            done
            for i in [0-9]*; do
                \(end)
            done 2>/dev/null
            wait
            """, to: "\(folder)/all")
        try run(["/usr/bin/timeout", "\(Int(patience / .seconds(1)))", "/bin/sh", "\(folder)/all", folder])
        for (number, script) in scripts.enumerated() where ![.becomesProgramAtTimes, .unclear].contains(script.fate) {
            func process(_ name: String) throws -> Int32 {
                let text = try String(contentsOfFile: "\(folder)/\(number)/\(name)", encoding: .utf8)
                return try #require(Int32(text.trimmed), "\(script.text)")
            }
            let isSame = try process("shell") == process("program")
            #expect(isSame == (script.fate == .becomesProgram), "\(script.text)")
        }
    }
}
