import Glibc
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct TerminalTests {
    @Test func `entering and leaving switch the screen and the settings`() throws {
        let pair = try PseudoTerminal()
        let terminal = try #require(Terminal(input: pair.terminal, output: pair.terminal, kind: "xterm"))
        let before = pair.settings
        #expect(before.c_lflag & tcflag_t(ECHO | ICANON) != 0)
        // Entered twice, as after the process was stopped.
        for _ in 0..<2 {
            terminal.enter()
            #expect(pair.settings.c_lflag & tcflag_t(ECHO | ICANON) == 0)
            #expect(pair.settings.c_lflag & tcflag_t(ISIG) != 0, "Ctrl-C sends a signal")
            #expect(pair.shown() == "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
        }
        terminal.leave()
        #expect(pair.settings.c_lflag == before.c_lflag && pair.settings.c_iflag == before.c_iflag)
        #expect(pair.shown() == "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        terminal.leave()
        write(pair.terminal, "x", 1)
        #expect(pair.shown() == "x", "nothing to leave")
    }

    @Test func `keys are taken without the screen`() throws {
        let pair = try PseudoTerminal()
        let terminal = try #require(Terminal(input: pair.terminal, output: pair.terminal, kind: "xterm"))
        let before = pair.settings
        terminal.takeKeys()
        #expect(pair.settings.c_lflag & tcflag_t(ECHO | ICANON) == 0)
        terminal.leave()
        #expect(pair.settings.c_lflag == before.c_lflag)
        write(pair.terminal, "x", 1)
        #expect(pair.shown() == "x", "no screen was entered or left")
    }

    @Test func `unread input is discarded on leaving`() throws {
        let pair = try PseudoTerminal()
        let terminal = try #require(Terminal(input: pair.terminal, output: pair.terminal, kind: "xterm"))
        terminal.enter()
        pair.type("qq")
        terminal.leave()
        #expect(Blocking.poll([(pair.terminal, POLLIN)], isWaiting: false) == [0])
    }

    @Test func `the size is that of the window`() throws {
        let pair = try PseudoTerminal()
        let terminal = try #require(Terminal(input: pair.terminal, output: pair.terminal, kind: "xterm"))
        #expect(terminal.size == Screen(rows: 24, columns: 80), "a terminal that does not know its size")
        pair.resize(rows: 7, columns: 133)
        #expect(terminal.size == Screen(rows: 7, columns: 133))
    }

    @Test func `a pipe, a dumb terminal and an unknown terminal are not used`() throws {
        let pair = try PseudoTerminal()
        let (read, write) = try makePipe()
        defer {
            close(read)
            close(write)
        }
        #expect(Terminal(input: pair.terminal, output: write, kind: "xterm") == nil)
        #expect(Terminal(input: read, output: pair.terminal, kind: "xterm") == nil)
        for kind in ["", "dumb"] {
            #expect(Terminal(input: pair.terminal, output: pair.terminal, kind: kind) == nil)
        }
    }
}
