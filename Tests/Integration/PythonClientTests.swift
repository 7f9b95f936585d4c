import Foundation
import Testing

extension IntegrationTests {
    /// Tests of a client in another language, implemented from the protocol document alone.
    @Suite struct PythonClientTests {
        private static let folder = Programs.repository + "/Tests/Integration/PythonClient/"

        private func python(_ script: String, _ argument: String) async throws -> String {
            let process = try ChildProcess(
                "python3", [Self.folder + script, argument], environment: ["PYTHONDONTWRITEBYTECODE": "1"])
            let status = try await process.waitForExit()
            let errors = try await process.standardError.wait("the end of stderr") { $0.isAtEnd ? $0.text : nil }
            #expect(status == .status(0), "\(errors)")
            return try await process.standardOutput.wait("the end of stdout") { $0.isAtEnd ? $0.text : nil }
        }

        @Test func `the Python client encodes and decodes the test vectors`() async throws {
            let vectors = Programs.repository + "/Sources/NotifyWire/NotifyWire.docc/vectors.json"
            #expect(try await python("check_vectors.py", vectors).hasSuffix("vectors agree\n"))
        }

        @Test func `the Python client posts, subscribes and acknowledges`() async throws {
            let daemon = try await Daemon.start()
            #expect(try await python("try_client.py", daemon.socket) == "the client works\n")
            #expect(try await daemon.stop() == .status(0))
        }
    }
}
