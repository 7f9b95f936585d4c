import Glibc
import NotifyLog
import NotifyServer
import NotifySystem

/// A fuzz target: a file of the daemon's configuration with the input as its content, which is loaded as at the start
/// of the daemon.
package struct FuzzTarget: Sendable {
    package enum File: String, CaseIterable {
        case configuration
        case policy
    }

    private static let unprintable: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]

    private let path: String
    private let sources: ConfigurationSources

    /// - Parameter folder: An existing folder, in which the file is written.
    package init(_ file: File, in folder: String) {
        switch file {
        case .configuration: path = folder + "/notifyd.yaml"
        case .policy:
            mkdir(folder + "/policy.d", 0o700)
            path = folder + "/policy.d/50.yaml"
        }
        let environment = ["CONFIGURATION_DIRECTORY": folder, "STATE_DIRECTORY": folder, "RUNTIME_DIRECTORY": folder]
        let context = ProcessContext(processID: 1, userID: 1000, environment: environment)
        sources = ConfigurationSources(
            options: CommandLineOptions(), context: context, defaults: DefaultPaths(for: context))
    }

    /// Loads the input. Throws an error if the input violates a property.
    package func test(_ input: UnsafeRawBufferPointer) throws {
        try write(input)
        switch (load(), load()) {
        case (.success(let first), .success(let second)):
            try require(first == second, "loading twice gives two configurations")
            try PolicyChecks(rules: first.policy, input).run()
        case (.failure(let first), .failure(let second)):
            try require("\(first)" == "\(second)", "loading twice gives two errors: \(first), \(second)")
            try check("\(first)")
        default:
            throw Violation("only one of two loads gives an error")
        }
    }

    private func load() -> Result<ServerConfiguration, ServerError> {
        Result { () throws(ServerError) in try sources.load() }
    }

    /// Checks that an error names the file and the line, and can be printed as one line.
    private func check(_ error: String) throws {
        let place = error.dropFirst(path.utf8.count)
        let line = place.dropFirst().prefix { $0.isNumber }
        try require(
            error.hasPrefix(path) && place.hasPrefix(":") && (Int(line) ?? 0) > 0
                && place.dropFirst(1 + line.count).hasPrefix(": "), "an error without file and line: \(error)")
        try require(
            error.unicodeScalars.allSatisfy { !Self.unprintable.contains($0.properties.generalCategory) },
            "an error with control characters: \(error.debugDescription)")
        try require(error.utf8.count <= 2000, "an error of \(error.utf8.count) bytes")
    }

    private func write(_ input: UnsafeRawBufferPointer) throws {
        let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        try require(
            file >= 0 && Glibc.write(file, input.baseAddress, input.count) == input.count, "cannot write \(path)")
        close(file)
    }
}

/// A property that an input violates.
package struct Violation: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

func require(_ condition: Bool, _ problem: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(problem()) }
}
