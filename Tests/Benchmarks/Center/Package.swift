// swift-tools-version: 6.2
import PackageDescription

let center = Target.Dependency.product(name: "NotifyCenter", package: "notifyd")
let foundation = Target.Dependency.product(name: "NotifyFoundation", package: "notifyd")

/// The compiler's name for the project's package. Targets that are compiled with this name may use the project's
/// `package` declarations.
let folder = Context.packageDirectory.split(separator: "/").dropLast(3).last ?? "notifyd"
let project = String(folder.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
let asProject: [SwiftSetting] = [
    .unsafeFlags(["-package-name", project])
]

let package = Package(
    name: "CenterBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "notifyd", path: "../../..")],
    targets: [
        .executableTarget(name: "compare", dependencies: [center, foundation]),
        .executableTarget(
            name: "allocations", dependencies: [center, "MallocCounter"], packageAccess: false, swiftSettings: asProject
        ),
        .executableTarget(name: "names", dependencies: [center], packageAccess: false, swiftSettings: asProject),
        .target(name: "MallocCounter"),
    ]
)
