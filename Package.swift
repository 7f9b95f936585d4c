// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "notifyd",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "NotifyCenter", targets: ["NotifyCenter"]),
        .library(name: "NotifyFoundation", targets: ["NotifyFoundation"]),
        .library(name: "NotifyBroadcast", targets: ["NotifyBroadcast"]),
        .library(name: "NotifyClient", targets: ["NotifyClient"]),
        .executable(name: "notifyd", targets: ["notifyd"]),
        .executable(name: "notifyctl", targets: ["notifyctl"]),
    ],
    // A trait enables the packages that a library or the programs need. See the table below.
    traits: [
        .trait(name: "Broadcast", description: "Resolves the packages that NotifyBroadcast needs."),
        .trait(name: "Client", description: "Resolves the packages that NotifyClient needs."),
        .trait(
            name: "Programs", description: "Resolves the packages that the programs need.", enabledTraits: ["Client"]),
        .default(enabledTraits: ["Broadcast", "Client", "Programs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-algorithms", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0"),
    ],
    targets: [
        .target(
            name: "NotifyCenter",
            dependencies: [.product(name: "DequeModule", package: "swift-collections")]),
        .target(name: "NotifyFoundation", dependencies: ["NotifyCenter"]),
        .target(name: "NotifyBroadcast", dependencies: ["NotifyCenter", "NotifyMacros"]),
        .macro(
            name: "NotifyMacros",
            dependencies: [
                "NotifyMacroExpansion",
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]),
        .target(
            name: "NotifyMacroExpansion",
            dependencies: [
                .product(name: "SwiftDiagnostics", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]),
        .target(
            name: "NotifyWire",
            dependencies: ["NotifyCenter", .product(name: "NIOCore", package: "swift-nio")]),
        .target(
            name: "NotifyLog",
            dependencies: ["NotifyCenter", "NotifyWire", .product(name: "NIOCore", package: "swift-nio")]),
        .target(
            name: "NotifyBroker",
            dependencies: [
                "NotifyCenter", "NotifyWire", "NotifyLog", "NotifyUnits",
                .product(name: "Algorithms", package: "swift-algorithms"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ]),
        .target(
            name: "NotifySystem",
            dependencies: ["CGNU", .product(name: "SystemPackage", package: "swift-system")]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CGNU"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .target(name: "NotifyYAML", dependencies: ["CYAML"]),
        .target(name: "NotifyUnits"),
        .target(name: "CCRC32C"),
        // Only tests import these. They define functions of the C library, which the linker then uses for SwiftNIO.
        .target(name: "CCloseOnExecEpoll"),
        .target(name: "CCloseOnExecAccept"),
        .target(
            name: "NotifyStore",
            dependencies: [
                "NotifyCenter", "NotifyWire", "NotifyLog", "NotifySystem", "CSQLite", "CCRC32C",
                .product(name: "Algorithms", package: "swift-algorithms"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .target(
            name: "NotifyServer",
            dependencies: [
                "NotifyCenter", "NotifyWire", "NotifyLog", "NotifyBroker", "NotifyStore", "NotifySystem",
                "NotifyUnits", "NotifyYAML", "CMalloc", "CCloseOnExecEpoll", "CCloseOnExecAccept",
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "NotifyClient",
            dependencies: [
                "NotifyCenter", "NotifyWire", "NotifySystem", "CCloseOnExecEpoll",
                .product(name: "Algorithms", package: "swift-algorithms"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .executableTarget(
            name: "notifyd",
            dependencies: [
                "NotifyServer", "NotifySystem", "NotifyUnits", "NotifyWire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .executableTarget(
            name: "notifyctl",
            dependencies: [
                "NotifyClient", "NotifySystem", "NotifyUnits", "CGNU",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),

        .target(name: "TestSupport", dependencies: ["NotifyCenter"], path: "Tests/TestSupport"),
        // Not part of TestSupport, because this target uses Testing: the static release of the attacks contains
        // TestSupport.
        .target(
            name: "CenterConformance", dependencies: ["NotifyCenter", "TestSupport"], path: "Tests/CenterConformance"),
        .target(
            name: "WireTestSupport",
            dependencies: ["NotifyWire", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/WireTestSupport"),
        .target(name: "PolicyModel", dependencies: ["NotifyCenter", "NotifyLog"], path: "Tests/PolicyModel"),
        .target(
            name: "FuzzTargets",
            dependencies: ["NotifyServer", "NotifyLog", "NotifyCenter", "NotifySystem", "PolicyModel", "TestSupport"],
            path: "Tests/Fuzz/Targets"),
        .testTarget(name: "NotifyCenterTests", dependencies: ["NotifyCenter", "CenterConformance", "TestSupport"]),
        .testTarget(
            name: "NotifyFoundationTests",
            dependencies: ["NotifyFoundation", "NotifyCenter", "TestSupport", "RunLoopProgram"]),
        .executableTarget(
            name: "RunLoopProgram", dependencies: ["NotifyFoundation"], path: "Tests/RunLoopProgram"),
        .testTarget(
            name: "NotifyBroadcastTests", dependencies: ["NotifyBroadcast", "NotifyCenter", "TestSupport"]),
        // The libraries as a program uses them: together, and without `@testable`.
        .testTarget(
            name: "LibrariesTests",
            dependencies: ["NotifyCenter", "NotifyFoundation", "NotifyBroadcast", "NotifyClient"]),
        .testTarget(
            name: "NotifyMacroExpansionTests",
            dependencies: [
                "NotifyMacroExpansion",
                .product(name: "SwiftDiagnostics", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]),
        .testTarget(
            name: "NotifyWireTests",
            dependencies: [
                "NotifyWire", "NotifyCenter", "TestSupport", "WireTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NotifyLogTests",
            dependencies: [
                "NotifyLog", "NotifyCenter", "NotifyWire", "PolicyModel", "TestSupport", "WireTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NotifyBrokerTests",
            dependencies: [
                "NotifyBroker", "NotifyClient", "NotifyCenter", "NotifyWire", "NotifyLog", "CenterConformance",
                "TestSupport", "WireTestSupport", .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NotifySystemTests",
            dependencies: ["NotifySystem", "TestSupport", .product(name: "SystemPackage", package: "swift-system")]),
        .testTarget(name: "NotifyYAMLTests", dependencies: ["NotifyYAML"]),
        .testTarget(name: "NotifyUnitsTests", dependencies: ["NotifyUnits"]),
        .testTarget(
            name: "NotifyStoreTests",
            dependencies: [
                "NotifyStore", "NotifyCenter", "NotifyWire", "NotifyLog", "NotifySystem", "TestSupport", "CSQLite",
                "CCRC32C",
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NotifyServerTests",
            dependencies: [
                "NotifyServer", "NotifyBroker", "NotifyStore", "NotifyWire", "NotifyLog", "NotifyCenter",
                "NotifySystem", "FuzzTargets", "notifyd", "TestSupport", "CCloseOnExecAccept",
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"), "WireTestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "NotifyClientTests",
            dependencies: [
                "NotifyClient", "NotifyWire", "NotifyCenter", "TestSupport", "WireTestSupport", "CCloseOnExecEpoll",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "notifyctlTests",
            dependencies: [
                "notifyctl", "NotifyClient", "NotifyUnits", "NotifyWire", "TestSupport", "WireTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "Integration",
            dependencies: [
                "NotifyClient", "NotifyWire", "NotifyCenter", "NotifySystem", "notifyd", "notifyctl",
                "Attacks", "ServiceGroupProgram", "TestSupport", "WireTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["PythonClient"]),
        .executableTarget(
            name: "Attacks",
            dependencies: [
                "NotifyWire", "TestSupport", "WireTestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Attacks", exclude: ["Processes/HangingDisk.c", "README.md", "run"]),
        .executableTarget(
            name: "ClientLoad",
            dependencies: [
                "NotifyClient", "NotifyWire", "WireTestSupport",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Benchmarks/ClientLoad"),
        .executableTarget(
            name: "ServiceGroupProgram",
            dependencies: [
                "NotifyClient",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Tests/ServiceGroupProgram"),
    ]
)

// The trait that enables each package. A program that depends on this package with `traits: []` resolves only what
// NotifyCenter and NotifyFoundation need.
let traits = [
    "swift-syntax": "Broadcast", "swift-algorithms": "Client", "swift-distributed-tracing": "Client",
    "swift-log": "Client", "swift-nio": "Client",
    "swift-service-lifecycle": "Client", "swift-system": "Client", "swift-argument-parser": "Programs",
    "swift-configuration": "Programs", "swift-metrics": "Client",
]
for target in package.targets {
    target.dependencies = target.dependencies.map { dependency in
        guard case .productItem(let name, let package?, _, _) = dependency, let trait = traits[package] else {
            return dependency
        }
        return .product(name: name, package: package, condition: .when(traits: [trait]))
    }
}

// Builds part of the package: ONLY="NotifyBroker NotifyStore" keeps these targets, their tests and their dependencies;
// IN_PROCESS_ONLY=1 keeps the in-process libraries and their dependencies.
var only = (Context.environment["ONLY"] ?? "").split(separator: " ").map(String.init)
let isInProcessOnly = Context.environment["IN_PROCESS_ONLY"] != nil
// The fuzzer links a library of the compiler, so only Tests/Fuzz/run builds it.
let isFuzzed = only == ["Fuzz"]
if isFuzzed {
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["FuzzTargets", "CFuzzer"],
            path: "Tests/Fuzz", exclude: ["CFuzzer", "Corpus", "README.md", "Targets", "dictionary", "run"]),
    ]
}
if isInProcessOnly {
    let libraries = ["NotifyCenter", "NotifyFoundation", "NotifyBroadcast"]
    only = libraries + ["NotifyMacroExpansion"]
    // For a library product without a type, `swift build --product` builds every target.
    package.products = libraries.map { .library(name: $0, type: .static, targets: [$0]) }
}
if !only.isEmpty {
    var kept: Set<String> = []
    var keptPackages: Set<String> = []
    var wanted = only.flatMap { [$0, "\($0)Tests"] }
    while let name = wanted.popLast() {
        guard kept.insert(name).inserted else { continue }
        guard let target = package.targets.first(where: { $0.name == name }) else { continue }
        for dependency in target.dependencies {
            switch dependency {
            case .byNameItem(let name, _): wanted.append(name)
            case .productItem(_, let package?, _, _): keptPackages.insert(package)
            default: break
            }
        }
    }
    package.products.removeAll { !kept.contains($0.name) }
    package.targets.removeAll { !kept.contains($0.name) }
    // Not for ONLY: builds of several parts in one folder share the resolved versions.
    if isInProcessOnly {
        package.dependencies.removeAll { dependency in
            guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
            return !keptPackages.contains { location.hasSuffix("/\($0)") }
        }
    }
}

// One set of rules for every target of ours. Warnings are errors where CI is set.
for target in package.targets where target.type != .system {
    var settings: [SwiftSetting] = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
    if Context.environment["CI"] != nil {
        settings.append(.treatAllWarnings(as: .error))
    }
    // Exclusivity checks at run time took a tenth of the instructions of a post. Debug builds, which tests use, have
    // them.
    if ["NotifyBroker", "NotifyStore", "NotifyServer"].contains(target.name) {
        settings.append(.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)))
    }
    if isFuzzed {
        // `run` optimizes the fuzzer, to try more inputs. Assertions remain, as in a debug build.
        settings.append(.unsafeFlags(["-assert-config", "Debug"]))
        // libFuzzer chooses inputs by the coverage of these modules.
        if ["NotifyServer", "NotifyYAML", "NotifyLog", "NotifyCenter"].contains(target.name) {
            settings.append(.unsafeFlags(["-sanitize=fuzzer"]))
        }
    }
    target.swiftSettings = settings
    if target.isTest { target.path = "Tests/\(target.name)" }
}
