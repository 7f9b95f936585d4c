import Glibc
import NotifyLog
import NotifyServer

/// A file of the daemon's configuration with the input as its content. The configuration is loaded as at the start of
/// the daemon.
struct FuzzTarget: Sendable {
    enum File: String {
        case configuration
        case policy
    }

    private static let unprintable: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]

    private let path: String
    private let sources: ConfigurationSources

    init(_ file: File, in folder: String) {
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

    /// Ends the process if the input violates a property.
    func test(_ input: UnsafeRawBufferPointer) {
        write(input)
        switch (load(), load()) {
        case (.success(let first), .success(let second)):
            require(first == second, "loading twice gives two configurations")
            PolicyChecks(rules: first.policy, input).run()
        case (.failure(let first), .failure(let second)):
            require("\(first)" == "\(second)", "loading twice gives two errors: \(first), \(second)")
            check("\(first)")
        default:
            fatalError("loading twice gives an error once")
        }
    }

    private func load() -> Result<ServerConfiguration, ServerError> {
        Result { () throws(ServerError) in try sources.load() }
    }

    /// Checks that an error names file and line, and can be printed as one line.
    private func check(_ error: String) {
        let place = error.dropFirst(path.utf8.count)
        let line = place.dropFirst().prefix { $0.isNumber }
        require(
            error.hasPrefix(path) && place.hasPrefix(":") && (Int(line) ?? 0) > 0
                && place.dropFirst(1 + line.count).hasPrefix(": "), "an error without file and line: \(error)")
        require(
            error.unicodeScalars.allSatisfy { !Self.unprintable.contains($0.properties.generalCategory) },
            "an error with control characters: \(error.debugDescription)")
        require(error.utf8.count <= 2000, "an error of \(error.utf8.count) bytes")
    }

    private func write(_ input: UnsafeRawBufferPointer) {
        let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        require(file >= 0 && Glibc.write(file, input.baseAddress, input.count) == input.count, "cannot write \(path)")
        close(file)
    }
}

func require(_ condition: Bool, _ problem: @autoclosure () -> String) {
    if !condition { fatalError(problem()) }
}
