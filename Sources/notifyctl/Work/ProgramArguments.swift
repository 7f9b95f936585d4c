import ArgumentParser

/// A command that runs another program. The program and its arguments follow `--`. The parser can't tell them from
/// other arguments of the command, so they are separated before parsing.
protocol ProgramRunning: ParsableCommand {
    /// The program and its arguments.
    var program: [String] { get set }
    /// Whether the arguments before `--` require a program. If not, no program may follow `--`.
    var takesProgram: Bool { get }
}

extension ProgramRunning {
    var takesProgram: Bool { true }
}

enum ProgramArguments {
    /// Parses the arguments of notifyctl. If the arguments before `--` are not complete, those after it may be
    /// patterns.
    ///
    /// - Throws: errors of the parser; `ValidationError` if a program follows `--` and the command does not run one.
    static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        guard let end = arguments.firstIndex(of: "--") else { return try Notifyctl.parseAsRoot(arguments) }
        let command: any ParsableCommand
        do {
            command = try Notifyctl.parseAsRoot(Array(arguments[..<end]))
        } catch {
            let whole = try Notifyctl.parseAsRoot(arguments)
            if takesProgram(whole) != nil { throw error }
            return whole
        }
        // A command without a program gets all arguments.
        guard var running = command as? any ProgramRunning else { return try Notifyctl.parseAsRoot(arguments) }
        let program = Array(arguments[(end + 1)...])
        guard running.takesProgram || program.isEmpty else {
            throw ValidationError(
                "'\(program[0])' follows '--': to run it for each message, add --exec; to name another pattern, omit '--'"
            )
        }
        running.program = program
        return running
    }

    private static func takesProgram(_ command: any ParsableCommand) -> (any ProgramRunning)? {
        (command as? any ProgramRunning).flatMap { $0.takesProgram ? $0 : nil }
    }
}
