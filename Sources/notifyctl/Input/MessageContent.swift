import ArgumentParser
import Glibc
import NotifyClient
import SystemPackage

/// A command with an argument that may be any bytes, because it is the content of a message.
protocol ContentTaking: ParsableCommand {
    var body: String? { get }
}

/// The content of a message to send: an argument, a file, or standard input.
struct MessageContent {
    /// The argument; `-` for standard input, nil if there is none.
    let argument: String?
    /// The name of a file; `-` for standard input, nil if there is none.
    var file: String?

    func validate() throws(ValidationError) {
        if argument != nil, file != nil { throw ValidationError("give the content or --file, not both") }
        if file == "" { throw ValidationError("--file needs the name of a file") }
    }

    /// Reads the content. Empty without an argument or file if standard input is a terminal, /dev/null or closed.
    func payload() async throws -> [UInt8] {
        if let argument, argument != "-" { return CommandArguments.process.bytes(of: argument) }
        guard argument != nil || file != nil || StandardInput.hasContent() else { return [] }
        let bytes = try await InputReader(descriptor: open()).all(limit: NotificationClient.maximumPayloadBytes)
        guard bytes.count <= NotificationClient.maximumPayloadBytes else {
            throw CommandFailure(
                .invalidData,
                "the content is larger than \(NotificationClient.maximumPayloadBytes) bytes, the maximum of every daemon"
            )
        }
        return bytes
    }

    /// Opens the file or standard input.
    func open() throws -> Int32 {
        guard let file, file != "-" else { return STDIN_FILENO }
        do {
            let descriptor = try FileDescriptor.open(FilePath(file), .readOnly, options: .closeOnExec).rawValue
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { throw Errno.isDirectory }
            return descriptor
        } catch {
            throw CommandFailure(.unreadableInput, "can't open \(file): \(error)")
        }
    }
}
