import FoundationEssentials
import NotifyLog
import NotifySystem
import SystemPackage

/// The directory with further files of rules, such as `/etc/notifyd/policy.d`.
enum PolicyDirectory {
    private static let suffix = ".yaml"

    /// Reads the rules of all files whose names end in `.yaml`, in the order of their names. Each file contains a list
    /// of the same records as `policy:` in the configuration file. A missing directory means no rules.
    static func rules(in path: String) throws(ServerError) -> [AccessRule] {
        var rules: [AccessRule] = []
        for name in try fileNames(in: path) { rules += try self.rules(inFile: "\(path)/\(name)") }
        return rules
    }

    private static func fileNames(in path: String) throws(ServerError) -> [String] {
        do {
            try OwnershipProblem.checkConfiguration(Stat(FilePath(path)), at: path)
            return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(suffix) }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch let problem as OwnershipProblem {
            throw ServerError(.configurationUntrusted, "\(problem)")
        } catch {
            if error as? Errno == .noSuchFileOrDirectory { return [] }
            throw ServerError(
                .configurationUnreadable,
                "the policy directory \(path) cannot be read: correct its path or permissions", cause: error)
        }
    }

    private static func rules(inFile path: String) throws(ServerError) -> [AccessRule] {
        guard let document = try ConfigurationDocument.read(path: path, isRequired: true), let root = document.root
        else { return [] }
        var configuration = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "")
        do {
            try PolicyRules.list.read(root, of: "policy", in: path)(&configuration)
        } catch {
            throw document.invalid(error.mark, error.problem)
        }
        return configuration.policy
    }
}
