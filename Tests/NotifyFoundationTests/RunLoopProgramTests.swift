import Foundation
import Testing

/// Runs `RunLoopProgram`, because the test process does not run the main run loop, and all tests share the heap of that
/// process.
@Suite struct RunLoopProgramTests {
    @Test(arguments: ["main", "thread"])
    func `ten thousand notifications wake the run loop and leak no memory`(thread: String) throws {
        let program = Process()
        program.executableURL = try Self.folder().appending(path: "RunLoopProgram")
        program.arguments = [thread]
        program.environment = ProcessInfo.processInfo.environment.merging(["MALLOC_ARENA_MAX": "1"]) { $1 }
        let output = Pipe()
        program.standardOutput = output
        let ended = DispatchSemaphore(value: 0)
        program.terminationHandler = { _ in ended.signal() }
        try program.run()
        if ended.wait(timeout: .now() + 300) == .timedOut { kill(program.processIdentifier, SIGKILL) }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(program.terminationStatus == 0)
        // The heap grows in steps of 132 KiB. A leaked timer for each of the 9,000 measured notifications would take
        // several megabytes.
        let growth = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(growth < 300_000)
    }

    /// The folder of the test executable, which also contains the program.
    private static func folder() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: tests).deletingLastPathComponent()
    }
}
