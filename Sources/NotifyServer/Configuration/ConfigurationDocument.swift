import NotifySystem
import NotifyYAML
import SystemPackage

/// A YAML file of the configuration, read and parsed. The file must belong to root or to the daemon's user, and no
/// other user may be able to write to it.
struct ConfigurationDocument {
    /// The size limit in bytes. A larger file is refused, so that reading a wrong path stays cheap.
    static let maximumBytes = 1 << 20

    let path: String
    /// The content; `nil` for a file that is empty or contains only comments.
    let root: Node?

    /// Reads a file.
    ///
    /// - Returns: `nil` if the file does not exist and is not required.
    static func read(path: String, isRequired: Bool) throws(ServerError) -> ConfigurationDocument? {
        let bytes: [UInt8]
        do {
            bytes = try readBytes(path: path)
        } catch let problem as OwnershipProblem {
            throw ServerError(.configurationUntrusted, "\(problem)")
        } catch {
            let isMissing = error as? Errno == .noSuchFileOrDirectory || error as? Errno == .notDirectory
            if isMissing, !isRequired { return nil }
            throw ServerError(
                .configurationUnreadable,
                "the configuration file \(path) cannot be read: correct its path or permissions", cause: error)
        }
        return try ConfigurationDocument(path: path, bytes: bytes)
    }

    init(path: String, bytes: [UInt8]) throws(ServerError) {
        self.path = path
        guard bytes.count <= Self.maximumBytes else {
            throw ServerError(
                .configurationInvalid, "\(path): larger than the limit of \(Self.maximumBytes) bytes")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Self.invalid(path, line: Self.firstLineNotUTF8(bytes), "not UTF-8 text, expected settings in YAML")
        }
        let node: Node?
        do throws(YAMLError) {
            node = try Node.parse(text)
        } catch {
            throw Self.describe(error, path: path)
        }
        // A document without content, such as "---", is an empty scalar.
        if case .scalar(let scalar)? = node, scalar.string.isEmpty { root = nil } else { root = node }
    }

    /// Makes an error about a place in the file.
    func invalid(_ mark: Mark?, _ problem: String) -> ServerError { Self.invalid(path, line: mark?.line, problem) }

    private static func invalid(_ path: String, line: Int?, _ problem: String) -> ServerError {
        let place = line.map { "\(path):\($0)" } ?? path
        return ServerError(.configurationInvalid, "\(place): \(problem)")
    }

    private static func firstLineNotUTF8(_ bytes: [UInt8]) -> Int {
        let repaired = String(decoding: bytes, as: UTF8.self).utf8
        let valid = zip(bytes, repaired).prefix { $0 == $1 }
        return 1 + valid.count { $0.0 == UInt8(ascii: "\n") }
    }

    private static func describe(_ error: YAMLError, path: String) -> ServerError {
        switch error {
        case .invalid(let problem, let mark): invalid(path, line: mark?.line, "not YAML: \(problem)")
        case .duplicateKeys(let keys, let mark):
            invalid(path, line: mark.line, "duplicate key: \(keys.joined(separator: ", ").excerpt)")
        }
    }

    private static func readBytes(path: String) throws -> [UInt8] {
        let file = try OwnedDescriptor.open(path, .readOnly, options: .nonBlocking)
        let descriptor = file.descriptor
        try OwnershipProblem.checkDirectory(of: path)
        try OwnershipProblem.checkConfiguration(Stat(descriptor), at: path)
        return try Errno.typed {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while bytes.count <= maximumBytes {
                let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                if count == 0 { break }
                bytes += chunk[..<count]
            }
            return bytes
        }
    }
}
