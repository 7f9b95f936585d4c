import Foundation
import TestSupport

/// A terminal in which a shell runs, in a tmux server of its own.
struct TmuxTerminal: Sendable {
    private let socket: String
    private let environment: [String: String?]

    /// Starts the terminal, passes it to `body`, and ends its server.
    static func with(
        _ daemon: Daemon, columns: Int = 120, rows: Int = 30, _ body: (TmuxTerminal) async throws -> Void
    ) async throws {
        let programs = URL(filePath: Programs.notifyctl).deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let terminal = TmuxTerminal(
            socket: daemon.folder.file("tmux"),
            environment: Daemon.clean.merging([
                "NOTIFYD_SOCKET": daemon.socket, "PATH": "\(programs):\(path)", "TMUX": nil, "TERM": "xterm",
            ]) { $1 })
        try await terminal.tmux(
            "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "bash", "--norc", "--noprofile", "-i")
        do {
            try await body(terminal)
        } catch {
            try await terminal.tmux("kill-server")
            throw error
        }
        try await terminal.tmux("kill-server")
    }

    @discardableResult
    private func tmux(_ arguments: String...) async throws -> String {
        let process = try ChildProcess(
            "tmux", ["-u", "-S", socket, "-f", "/dev/null"] + arguments, environment: environment)
        let exit = try await process.waitForExit()
        let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0.text : nil }
        guard exit == .status(0) else { throw TmuxFailure(description: "tmux \(arguments): \(exit), \(errors)") }
        return try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0.text : nil }
    }

    /// Types text.
    func type(_ text: String) async throws {
        try await tmux("send-keys", "-l", text)
    }

    /// Presses a key by its name in tmux, such as `Enter` or `C-c`.
    func press(_ key: String) async throws {
        try await tmux("send-keys", key)
    }

    func resize(columns: Int, rows: Int) async throws {
        try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    /// Waits until `find` returns a value for the lines of the screen, and returns the value. tmux reports no
    /// event when the screen changes, so this polls it.
    @discardableResult
    func wait<Found>(
        _ what: String, within limit: Duration = .seconds(300), for find: (Screen) -> Found?
    ) async throws -> Found {
        let deadline = ContinuousClock.now + limit
        while true {
            let screen = Screen(text: try await tmux("capture-pane", "-p"))
            if let found = find(screen) { return found }
            guard ContinuousClock.now < deadline else {
                throw TimedOut(description: "timed out waiting for \(what); the screen shows\n\(screen.text)")
            }
        }
    }

    /// Waits until the screen contains a text.
    func waitForText(_ text: String) async throws {
        try await wait("«\(text)»") { $0.text.contains(text) ? true : nil }
    }

    /// The text on the screen of a terminal.
    struct Screen: Sendable {
        let text: String

        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

        /// The words of each row of the table whose first column has this title; nil if there is no such table.
        func table(_ title: String) -> [[Substring]]? {
            let words = lines.map { $0.split(separator: " ") }
            guard let start = words.firstIndex(where: { $0.first == title[...] }) else { return nil }
            return Array(words[(start + 1)...].prefix { !$0.isEmpty })
        }
    }
}

/// A tmux command that failed.
struct TmuxFailure: Error, CustomStringConvertible {
    var description: String
}
