import SystemPackage

/// The programs of processes on this machine.
enum ProcessNames {
    /// The name of the program that the process runs now, from `/proc`; nil if there is no such process.
    static func program(of pid: UInt32) -> String? {
        guard pid != 0,
            let file = try? FileDescriptor.open("/proc/\(pid)/comm", .readOnly, options: .closeOnExec)
        else { return nil }
        defer { try? file.close() }
        var bytes = [UInt8](repeating: 0, count: 256)
        guard let count = try? bytes.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// The program name of each process. A pid without a process has no entry. Looks up each pid once.
    static func programs(of pids: some Sequence<UInt32>) -> [UInt32: String] {
        var programs: [UInt32: String] = [:]
        for pid in Set(pids) { programs[pid] = program(of: pid) }
        return programs
    }
}
