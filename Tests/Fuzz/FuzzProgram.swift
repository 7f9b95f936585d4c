import CFuzzer
import FuzzTargets
import Glibc

/// Passes each input of libFuzzer to the target that `FUZZ_TARGET` names. The target writes the input to a
/// configuration file below the folder that `FUZZ_FOLDER` names, which must exist, and loads it.
@main
enum FuzzProgram {
    private static let target: FuzzTarget = {
        guard let name = getenv("FUZZ_TARGET"), let folder = getenv("FUZZ_FOLDER"),
            let file = FuzzTarget.File(rawValue: String(cString: name))
        else { fatalError("run this with Tests/Fuzz/run") }
        return FuzzTarget(file, in: String(cString: folder))
    }()

    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { input, size in
                do {
                    try FuzzProgram.target.test(UnsafeRawBufferPointer(start: input, count: size))
                } catch {
                    fatalError("\(error)")
                }
                return 0
            })
    }
}
