import TestSupport
import Testing
import WireTestSupport

extension Daemon {
    /// Starts a daemon whose writes to the disk block while the returned file exists.
    static func startWithHangingDisk() async throws -> (Daemon, hanging: String) {
        let folder = try TemporaryFolder()
        let library = folder.file("hang.so")
        let source = Programs.repository + "/Tests/Attacks/Processes/HangingDisk.c"
        let compiler = try ChildProcess(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, source, "-ldl"])
        try #require(try await compiler.waitForExit() == .status(0))
        let hanging = folder.file("hanging")
        let daemon = try await Daemon.start(
            environment: ["LD_PRELOAD": library, "HANGING_DISK": hanging], folder: folder)
        return (daemon, hanging)
    }
}
