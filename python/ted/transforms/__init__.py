"""Passes from ted to ted, one a file; most are functions from systems to systems."""
