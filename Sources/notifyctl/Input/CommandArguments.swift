import Glibc
import SystemPackage

/// The arguments of the command line as raw bytes. `CommandLine.arguments` replaces bytes that are not UTF-8.
///
/// The parser reads a placeholder in place of each argument that is not UTF-8. Only the content of `post` and
/// `request` may be such an argument.
struct CommandArguments: Sendable {
    /// The arguments of this process, without its name.
    static let process = CommandArguments(Array((CommandLine.argc > 0 ? runtime : kernel).dropFirst()))

    private static var runtime: [[UInt8]] {
        UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)).map {
            $0.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
    }

    /// The arguments as the kernel has them. Swift's runtime searches for the arguments beside the environment. It
    /// finds none if a constructor of a preloaded library has set a variable, because the environment has moved then.
    private static var kernel: [[UInt8]] {
        guard let file = try? FileDescriptor.open("/proc/self/cmdline", .readOnly, options: .closeOnExec)
        else { return [] }
        defer { try? file.close() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while let count = try? buffer.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
            bytes += buffer[..<count]
        }
        // Each argument ends with a NUL.
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map(Array.init)
    }

    /// The arguments for the parser.
    let strings: [String]
    private let arguments: [[UInt8]]
    /// The index of each argument that is not UTF-8, by its placeholder.
    private let placeholders: [String: Int]

    init(_ arguments: [[UInt8]]) {
        self.arguments = arguments
        var placeholders: [String: Int] = [:]
        strings = arguments.enumerated().map { index, bytes in
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            // A random number makes the placeholder unequal to every other argument.
            let placeholder = "argument \(index + 1) \(UInt64.random(in: 0...(.max)))"
            placeholders[placeholder] = index
            return placeholder
        }
        self.placeholders = placeholders
    }

    /// The bytes of an argument that the parser has read.
    func bytes(of value: String) -> [UInt8] {
        placeholders[value].map { arguments[$0] } ?? Array(value.utf8)
    }

    /// Refuses options that are not UTF-8: the parser would not recognize a placeholder as an option.
    func checkOptions() throws(CommandFailure) {
        let options = arguments.prefix { $0 != Array("--".utf8) }
        for index in placeholders.values.sorted() where index < options.count && options[index].first == 0x2D {
            throw failure(index)
        }
    }

    /// Refuses arguments that are not UTF-8, other than the content of a message.
    func check(except content: String?) throws(CommandFailure) {
        if let index = placeholders.filter({ $0.key != content }).values.min() { throw failure(index) }
    }

    /// The failure to report instead of a parser's message that contains a placeholder; nil for other messages.
    func failure(quotedIn message: String) -> CommandFailure? {
        placeholders.filter { message.contains($0.key) }.values.min().map(failure)
    }

    private func failure(_ index: Int) -> CommandFailure {
        let text = String(decoding: arguments[index], as: UTF8.self)
        return CommandFailure(
            .invalidData,
            "argument \(index + 1), '\(text)', is not UTF-8; only the content of a message may contain other bytes"
        )
    }
}
