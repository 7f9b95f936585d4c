import ArgumentParser

/// A command that runs another program, which follows `--` with its arguments. The parser can't tell them from other
/// arguments of the command, so they are separated before.
protocol ProgramRunning: ParsableCommand {
    /// The program and its arguments.
    var program: [String] { get set }
    /// Whether a program follows `--`, and not further arguments of the command.
    var takesProgram: Bool { get }
}

extension ProgramRunning {
    var takesProgram: Bool { true }
}

enum ProgramArguments {
    /// Parses the arguments of notifyctl.
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
        guard var running = takesProgram(command) else { return try Notifyctl.parseAsRoot(arguments) }
        running.program = Array(arguments[(end + 1)...])
        return running
    }

    private static func takesProgram(_ command: any ParsableCommand) -> (any ProgramRunning)? {
        (command as? any ProgramRunning).flatMap { $0.takesProgram ? $0 : nil }
    }
}
